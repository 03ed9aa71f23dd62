// SPDX-License-Identifier: Apache-2.0
// A table of rows that grows to any size without ever standing in memory twice: large ones are
// mappings of their own, which the kernel moves by its page tables. Pages are asked for some at a
// time, shortly before they are needed: a fault for each would cost more than the rows.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace roofmark::trace {

template <typename T>
class Rows {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  Rows() = default;
  Rows(std::initializer_list<T> rows) { Append(rows.begin(), rows.size()); }
  Rows(const Rows& other) { Append(other.data_, other.size_); }
  Rows(Rows&& other) noexcept { swap(other); }
  Rows& operator=(Rows other) noexcept {
    swap(other);
    return *this;
  }
  ~Rows() { Release(); }
  void swap(Rows& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(ready_, other.ready_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t row) { return data_[row]; }
  const T& operator[](size_t row) const { return data_[row]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& row) {
    if (size_ == ready_) {
      const T copy = row;  // which may be one of ours
      MakeReady(size_ + 1);
      data_[size_++] = copy;
    } else {
      data_[size_++] = row;
    }
  }
  void resize(size_t size, const T& value = T{}) {
    if (size > capacity_) Grow(size);
    ready_ = std::max(ready_, size);
    for (; size_ < size; ++size_) data_[size_] = value;
    size_ = size;
  }
  void clear() { size_ = 0; }

 private:
  static constexpr size_t kMapped = size_t{1} << 18;  // bytes from which on it is a mapping
  static constexpr size_t kAhead = size_t{1} << 17;   // bytes whose pages are asked for at once

  void Append(const T* rows, size_t count) {
    if (count == 0) return;
    if (size_ + count > capacity_) Grow(size_ + count);
    ready_ = std::max(ready_, size_ + count);
    std::memcpy(static_cast<void*>(data_ + size_), rows, count * sizeof(T));
    size_ += count;
  }

  // NOLINTBEGIN(cppcoreguidelines-owning-memory): this is the owner.
  bool mapped() const { return capacity_ * sizeof(T) >= kMapped; }

  void MakeReady(size_t least) {
    if (least > capacity_) Grow(least);
    if (!mapped()) {
      ready_ = capacity_;
      return;
    }
#ifdef MADV_POPULATE_WRITE
    // Blocks begin where pages do. Refused by old kernels, which then fault as rows are written.
    const size_t from = ready_ * sizeof(T) / kAhead * kAhead;
    const size_t to = std::min(from + 2 * kAhead, capacity_ * sizeof(T) / 4096 * 4096);
    if (to / sizeof(T) >= least &&
        ::madvise(reinterpret_cast<char*>(data_) + from, to - from, MADV_POPULATE_WRITE) == 0) {
      ready_ = to / sizeof(T);
      return;
    }
#endif
    ready_ = capacity_;
  }

  void Grow(size_t least) {
    size_t bytes = capacity_ == 0 ? size_t{4096} : 2 * capacity_ * sizeof(T);
    while (bytes / sizeof(T) < least) bytes *= 2;
    void* made = nullptr;
    if (mapped()) {
      made = ::mremap(data_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE);
    } else if (bytes / sizeof(T) * sizeof(T) >= kMapped) {
      made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made != MAP_FAILED) {
        if (size_ > 0) std::memcpy(made, static_cast<const void*>(data_), size_ * sizeof(T));
        std::free(data_);
      }
    } else {
      made = std::realloc(data_, bytes);
    }
    if (made == nullptr || made == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(made);
    capacity_ = bytes / sizeof(T);
  }

  void Release() {
    if (mapped()) {
      ::munmap(data_, capacity_ * sizeof(T));
    } else {
      std::free(data_);
    }
  }

  // NOLINTEND(cppcoreguidelines-owning-memory)

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t ready_ = 0;  // rows that have room without asking for more
};

// Removes the rows that the predicate holds for; the others keep their order. Returns how many.
template <typename T, typename Predicate>
size_t erase_if(Rows<T>& rows, Predicate predicate) {
  const auto kept =
      static_cast<size_t>(std::remove_if(rows.begin(), rows.end(), predicate) - rows.begin());
  const size_t removed = rows.size() - kept;
  rows.resize(kept);
  return removed;
}

}  // namespace roofmark::trace
