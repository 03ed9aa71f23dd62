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

// Where the old root and the new one are while the tree is built. In a chroot, where pivot_root
// always fails, both stay below the old root's /tmp.
struct Places {
  std::string old_root = "/old";
  std::string new_root = "/new";
  bool in_chroot = false;
};

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

Result<void> Bind(const Places& places, const TreeEntry& entry) {
  const std::string source = places.old_root + entry.source;
  const std::string target = places.new_root + entry.target;
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
Result<void> Copy(const Places& places, const TreeEntry& entry) {
  const fs::path source = places.old_root + entry.source;
  const fs::path target = places.new_root + entry.target;
  TRY(MakeFolders(target));
  std::error_code error;
  fs::copy(source, target, kCopyContents, error);
  if (error) return Fail(ErrorKind::kIo, "copying " + entry.source + ": " + error.message());
  return LetEverybodyRead(target);
}

Result<void> Hide(const Places& places, const TreeEntry& entry) {
  const std::string target = places.new_root + entry.target;
  struct stat info{};
  if (::stat(target.c_str(), &info) != 0) return {};  // nothing to hide
  if (S_ISDIR(info.st_mode)) {
    return Mount("none", target, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=755,size=4k");
  }
  return Mount((places.old_root + "/dev/null").c_str(), target, nullptr, MS_BIND, nullptr);
}

Result<void> Apply(const Places& places, const TreeEntry& entry) {
  const std::string target = places.new_root + entry.target;
  switch (entry.step) {
    case TreeStep::kReadOnly:
    case TreeStep::kReadWrite:
    case TreeStep::kDevice:
      return Bind(places, entry);
    case TreeStep::kCopy:
      return Copy(places, entry);
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
  return Hide(places, entry);
}

// In a chroot: what is mounted now appears again below /tmp, where nothing else is.
Result<Places> StepBeside() {
  const Places places{.old_root = "/tmp/old", .new_root = "/tmp/new", .in_chroot = true};
  const Fd all(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
  if (!all.valid()) return Refused("copying the mounts of a chroot");
  TRY(Mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m"));
  if (::mkdir(places.old_root.c_str(), 0755) != 0 || ::mkdir(places.new_root.c_str(), 0755) != 0) {
    return Refused("mkdir");
  }
  if (::syscall(SYS_move_mount, all.get(), "", AT_FDCWD, places.old_root.c_str(),
                MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return Refused("move_mount");
  }
  return places;
}

// From the machine's root to a small tmpfs that holds the old root and an empty new one.
Result<Places> StepAside() {
  (void)Mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);  // no mount in a chroot
  TRY(Mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m"));
  if (::mkdir("/tmp/old", 0755) != 0 || ::mkdir("/tmp/new", 0755) != 0) return Refused("mkdir");
  if (::syscall(SYS_pivot_root, "/tmp", "/tmp/old") == 0) {
    if (::chdir("/") != 0) return Refused("chdir");
    return Places{};
  }
  if (errno != EINVAL) return Refused("pivot_root");
  if (::umount2("/tmp", MNT_DETACH) != 0) return Refused("umount");
  return StepBeside();
}

Result<void> EnterNewRoot(const Places& places) {
  if (::umount2(places.old_root.c_str(), MNT_DETACH) != 0) return Refused("leaving the old root");
  if (::chdir(places.new_root.c_str()) != 0) return Refused("entering the new root");
  // Without capabilities and with nothing open outside, a process does not leave a chroot.
  const bool entered = places.in_chroot ? ::chroot(".") == 0
                                        : ::syscall(SYS_pivot_root, ".", ".") == 0 &&
                                              ::umount2(".", MNT_DETACH) == 0;
  if (!entered || ::chdir("/") != 0) return Refused("entering the new root");
  return {};
}

}  // namespace

Result<void> LetEverybodyRead(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_symlink()) continue;
    fs::permissions(it->path(), it->is_directory() ? fs::perms{0755} : fs::perms{0644}, error);
  }
  if (error) {
    return Fail(ErrorKind::kIo,
                fmt::format("making {} readable: {}", folder.string(), error.message()));
  }
  return {};
}

Result<void> EnterTree(const std::vector<TreeEntry>& tree) {
  ::umask(022);
  const Places places = TRY(StepAside());
  TRY(Mount("none", places.new_root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=256m"));
  for (const TreeEntry& entry : tree) TRY(Apply(places, entry));
  const std::string proc = places.new_root + "/proc";
  TRY(MakeFolders(proc));
  TRY(Mount("none", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2"));
  TRY(EnterNewRoot(places));
  // Only the tree's own top; its writable folders are mounts of their own.
  return Mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
               nullptr);
}

}  // namespace roofmark::worker
