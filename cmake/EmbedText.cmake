# SPDX-License-Identifier: Apache-2.0
# roofmark_embed_text(MODULE PATTERN...): text files of a module become part of its library, so that
# the binary needs no data files beside it. Each file src/MODULE/x_y.css is defined as
# `const std::string_view roofmark::MODULE::kXYCss`; the module declares the ones that it uses in a
# header of its own. All of them together are a table, in the order of their paths below src/MODULE:
# kEmbeddedPaths[kEmbeddedCount] and kEmbeddedTexts[kEmbeddedCount] (pointers to the texts).
# Editing a text file rebuilds it; a new one is found by its pattern.
#
# The same file is the script that writes the C++ (cmake -P) at build time.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  # Raw strings; cut where g++'s and the standard's limits for one literal are far away. The
  # delimiter must not occur in the text.
  set(delimiter "rfmk")
  string(FIND "${text}" ")${delimiter}\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${INPUT}: holds )${delimiter}\", the end of the literal that embeds it")
  endif()
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literals "R\"${delimiter}(${piece})${delimiter}\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  if(literals STREQUAL "")
    set(literals "\"\"")
  endif()
  file(WRITE "${OUTPUT}" "// Made from ${INPUT}; edit that file.
#include <string_view>
namespace roofmark::${MODULE} {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL} =
${literals};
}  // namespace roofmark::${MODULE}
")
  return()
endif()

function(roofmark_embed_text module)
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/${module}/ OUTPUT_VARIABLE patterns)
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  if(NOT files)
    message(FATAL_ERROR "roofmark_embed_text(${module} ${ARGN}): no such file")
  endif()
  set(declarations "")
  set(paths "")
  set(texts "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    # report_charts.js -> kReportChartsJs
    string(REGEX MATCHALL "[A-Za-z0-9]+" words ${name})
    set(symbol k)
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 0 1 first)
      string(TOUPPER ${first} first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(APPEND symbol ${first}${rest})
    endforeach()
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR}/${module} ${file})
    string(APPEND declarations "extern const std::string_view ${symbol};\n")
    string(APPEND paths "    \"${path}\",\n")
    string(APPEND texts "    &${symbol},\n")
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${module}_${name}.cc)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DMODULE=${module}
              -DSYMBOL=${symbol} -P ${script}
      DEPENDS ${file} ${script}
      COMMENT "Embedding ${module}/${name}"
      VERBATIM)
    target_sources(roofmark_${module} PRIVATE ${output})
  endforeach()
  list(LENGTH files count)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/embedded/${module}_table.cc)
  file(CONFIGURE OUTPUT ${table} CONTENT "// Made by cmake/EmbedText.cmake.
#include <cstddef>
#include <string_view>
namespace roofmark::${module} {
${declarations}
extern const size_t kEmbeddedCount;
extern const std::string_view kEmbeddedPaths[];
extern const std::string_view* const kEmbeddedTexts[];
const size_t kEmbeddedCount = ${count};
const std::string_view kEmbeddedPaths[] = {
${paths}};
const std::string_view* const kEmbeddedTexts[] = {
${texts}};
}  // namespace roofmark::${module}
")
  target_sources(roofmark_${module} PRIVATE ${table})
endfunction()
