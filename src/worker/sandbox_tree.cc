// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/owned.h"

namespace roofmark::worker {
namespace {

namespace fs = std::filesystem;

// While the tree is built, the old root is here and the new one there.
constexpr const char* kOld = "/old";
constexpr const char* kNew = "/new";

std::unexpected<Error> Refused(std::string_view what) {
  return Fail(ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<void> Mount(const char* source, const std::string& target, const char* type,
                   unsigned long flags, const char* options) {
  if (::mount(source, target.c_str(), type, flags, options) == 0) return {};
  return Refused(fmt::format("mounting {} at {}", type != nullptr ? type : source, target));
}

Result<void> MakeFolders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return Fail(ErrorKind::kIo, fmt::format("making {}: {}", path.string(), error.message()));
}

Result<void> MakeFile(const fs::path& path, std::string_view text) {
  TRY(MakeFolders(path.parent_path()));
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return Refused("making " + path.string());
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0) return Refused("writing " + path.string());
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Makes a mount and everything under it read-only. Before Linux 5.12 only the mount itself can be
// changed, with the flags that it had, which a user namespace may not drop.
Result<void> MakeReadOnly(const std::string& target) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes,
                sizeof attributes) == 0) {
    return {};
  }
  struct statvfs now{};
  if (::statvfs(target.c_str(), &now) != 0) return Refused("asking about " + target);
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;
  if ((now.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((now.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((now.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((now.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  return Mount(nullptr, target, nullptr, flags, nullptr);
}

Result<void> Bind(const TreeEntry& entry) {
  const std::string source = kOld + entry.source;
  const std::string target = kNew + entry.target;
  struct stat info{};
  if (::stat(source.c_str(), &info) != 0) return Refused("finding " + entry.source);
  if (S_ISDIR(info.st_mode)) {
    TRY(MakeFolders(target));
  } else if (!fs::exists(target)) {
    TRY(MakeFile(target, {}));
  }
  TRY(Mount(source.c_str(), target, nullptr, MS_BIND | MS_REC, nullptr));
  if (entry.step == TreeStep::kReadOnly) return MakeReadOnly(target);
  return {};
}

// Copies what a folder or file holds, links excepted, and lets everybody read it.
Result<void> Copy(const TreeEntry& entry) {
  const fs::path source = kOld + entry.source;
  const fs::path target = kNew + entry.target;
  TRY(MakeFolders(target));
  std::error_code error;
  fs::copy(source, target, fs::copy_options::recursive | fs::copy_options::skip_symlinks, error);
  for (fs::recursive_directory_iterator it(target, error), end; !error && it != end;
       it.increment(error)) {
    const auto mode = it->is_directory() ? fs::perms{0755} : fs::perms{0644};
    fs::permissions(it->path(), mode, fs::perm_options::replace, error);
  }
  if (error) return Fail(ErrorKind::kIo, "copying " + entry.source + ": " + error.message());
  return {};
}

Result<void> Hide(const TreeEntry& entry) {
  const std::string target = kNew + entry.target;
  struct stat info{};
  if (::stat(target.c_str(), &info) != 0) return {};  // nothing to hide
  if (S_ISDIR(info.st_mode)) {
    return Mount("none", target, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=755,size=4k");
  }
  return Mount("/old/dev/null", target, nullptr, MS_BIND, nullptr);
}

Result<void> Apply(const TreeEntry& entry) {
  const std::string target = kNew + entry.target;
  switch (entry.step) {
    case TreeStep::kReadOnly:
    case TreeStep::kReadWrite:
    case TreeStep::kDevice:
      return Bind(entry);
    case TreeStep::kCopy:
      return Copy(entry);
    case TreeStep::kText:
      return MakeFile(target, entry.text);
    case TreeStep::kLink:
      TRY(MakeFolders(fs::path(target).parent_path()));
      if (::symlink(entry.text.c_str(), target.c_str()) != 0) return Refused("linking " + target);
      return {};
    case TreeStep::kEmpty:
      TRY(MakeFolders(target));
      return Mount("none", target, "tmpfs", MS_NOSUID | MS_NODEV,
                   fmt::format("mode=1777,size={}", entry.bytes).c_str());
    case TreeStep::kHidden:
      break;
  }
  return Hide(entry);
}

// From the machine's root to a small tmpfs that holds the old root and an empty new one.
Result<void> StepAside() {
  TRY(Mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  TRY(Mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m"));
  if (::mkdir("/tmp/old", 0755) != 0 || ::mkdir("/tmp/new", 0755) != 0) return Refused("mkdir");
  if (::syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0) return Refused("pivot_root");
  if (::chdir("/") != 0) return Refused("chdir");
  return Mount("none", kNew, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=256m");
}

}  // namespace

Result<void> EnterTree(const std::vector<TreeEntry>& tree) {
  ::umask(022);
  TRY(StepAside());
  for (const TreeEntry& entry : tree) TRY(Apply(entry));
  const std::string proc = std::string(kNew) + "/proc";
  TRY(MakeFolders(proc));
  TRY(Mount("none", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2"));

  if (::umount2(kOld, MNT_DETACH) != 0) return Refused("leaving the old root");
  if (::chdir(kNew) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
    return Refused("entering the new root");
  }
  // Only the tree's own top; its writable folders are mounts of their own.
  return Mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
               nullptr);
}

}  // namespace roofmark::worker
