// SPDX-License-Identifier: Apache-2.0
#include "worker/python_files.h"

#include <algorithm>

#include "base/testing.h"

namespace roofmark::worker {
namespace {

std::vector<std::string> FilesFor(PythonAudience audience) {
  std::vector<TreeEntry> tree;
  AddPythonFiles(audience, &tree);
  std::vector<std::string> files;
  for (const TreeEntry& entry : tree) files.push_back(entry.target);
  return files;
}

bool Sees(PythonAudience audience, const std::string& file) {
  return std::ranges::count(FilesFor(audience), "/roofmark/" + file) == 1;
}

TEST(PythonFiles, EveryWorkerFindsItsMainProgram) {
  for (const auto audience :
       {PythonAudience::kReference, PythonAudience::kCandidate, PythonAudience::kImporter}) {
    EXPECT_TRUE(Sees(audience, "roofmark_main.py"));
    EXPECT_TRUE(Sees(audience, "roofmark_arenas.py"));
    EXPECT_TRUE(Sees(audience, "roofmark_recompile.py"));
  }
}

TEST(PythonFiles, WhatReferencesAreMadeOfIsNotForCandidates) {
  EXPECT_TRUE(Sees(PythonAudience::kReference, "roofmark_ref/imported.py"));
  EXPECT_TRUE(Sees(PythonAudience::kImporter, "roofmark_ref/imported.py"));
  for (const std::string& file : FilesFor(PythonAudience::kCandidate)) {
    EXPECT_FALSE(file.starts_with("/roofmark/roofmark_ref/")) << file;
  }
}

TEST(PythonFiles, HowForeignProblemsAreReadIsForTheImporterAlone) {
  for (const char* file : {"roofmark_importer.py", "roofmark_describe.py",
                           "roofmark_describe_python.py", "roofmark_describe_definition.py"}) {
    EXPECT_TRUE(Sees(PythonAudience::kImporter, file)) << file;
    EXPECT_FALSE(Sees(PythonAudience::kReference, file)) << file;
    EXPECT_FALSE(Sees(PythonAudience::kCandidate, file)) << file;
  }
}

}  // namespace
}  // namespace roofmark::worker
