# SPDX-License-Identifier: Apache-2.0
# roofmark_module(NAME DEPS a b LIBS x y): the library of folder src/NAME, its header
# self-containment check, its unit tests (x_test.cc) and its benchmarks (x_bench.cc). A module may
# name only modules declared above it, so the list in src/CMakeLists.txt is acyclic by construction;
# cmake/check_layers.py checks the includes.

set(ROOFMARK_SANITIZE "" CACHE STRING "comma separated sanitizers, for the sanitizer presets")

# Under -O3, g++ 12 calls strings of aggregates uninitialised where TRY leaves the function early;
# it is wrong there, so that one warning is off.
add_library(roofmark_build_flags INTERFACE)
target_compile_options(roofmark_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wold-style-cast -Woverloaded-virtual> -Werror)
if(ROOFMARK_SANITIZE)
  target_compile_options(roofmark_build_flags INTERFACE
    -fsanitize=${ROOFMARK_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(roofmark_build_flags INTERFACE -fsanitize=${ROOFMARK_SANITIZE})
endif()

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(benchmark QUIET)
include(GoogleTest)

# Not part of a build: it finds nothing that a build needs to know.
add_custom_target(headers_alone)

function(roofmark_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS" ${ARGN})
  foreach(dep IN LISTS arg_DEPS)
    if(NOT TARGET roofmark_${dep})
      message(FATAL_ERROR
        "src/CMakeLists.txt: ${name} names ${dep}, which is not declared above it")
    endif()
  endforeach()

  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${name}/*.h)
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_bench\\.cc$|_fuzz\\.cc$|/main\\.cc$")

  # One generated source per header proves that each header compiles alone (`./run check`).
  foreach(header IN LISTS headers)
    get_filename_component(stem ${header} NAME_WE)
    set(alone ${CMAKE_CURRENT_BINARY_DIR}/alone/${name}_${stem}.cc)
    if(NOT EXISTS ${alone})
      file(WRITE ${alone} "#include \"${name}/${stem}.h\"\n")
    endif()
    list(APPEND alones ${alone})
  endforeach()

  if(NOT sources)
    add_library(roofmark_${name} INTERFACE)
    list(TRANSFORM arg_DEPS PREPEND roofmark_)
    target_link_libraries(roofmark_${name} INTERFACE ${arg_DEPS} ${arg_LIBS})
    return()
  endif()
  add_library(roofmark_${name} STATIC ${sources})
  target_include_directories(roofmark_${name} PUBLIC
    ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  list(TRANSFORM arg_DEPS PREPEND roofmark_)
  target_link_libraries(roofmark_${name}
    PUBLIC ${arg_DEPS} ${arg_LIBS} PRIVATE roofmark_build_flags)
  if(alones)
    add_library(roofmark_${name}_headers OBJECT EXCLUDE_FROM_ALL ${alones})
    target_link_libraries(roofmark_${name}_headers PRIVATE roofmark_${name} roofmark_build_flags)
    # What headers for tests name, as the tests get it.
    target_compile_definitions(roofmark_${name}_headers PRIVATE
      ROOFMARK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_dependencies(headers_alone roofmark_${name}_headers)
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      roofmark_${name} roofmark_build_flags GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE
      ROOFMARK_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ROOFMARK_BINARY_DIR="${CMAKE_BINARY_DIR}")
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS unit TIMEOUT 120 ENVIRONMENT "ROOFMARK_DATA=${CMAKE_SOURCE_DIR}")
  endif()

  foreach(bench IN LISTS benches)
    if(NOT benchmark_FOUND)
      break()
    endif()
    get_filename_component(bench_name ${bench} NAME_WE)
    add_executable(${bench_name} EXCLUDE_FROM_ALL ${bench})
    target_link_libraries(${bench_name} PRIVATE
      roofmark_${name} roofmark_build_flags benchmark::benchmark_main)
    target_compile_definitions(${bench_name} PRIVATE ROOFMARK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  endforeach()
endfunction()
