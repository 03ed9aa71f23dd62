// SPDX-License-Identifier: Apache-2.0
#include "base/hash_stream.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/owned.h"

namespace roofmark {
namespace {

void FreeDigest(EVP_MD_CTX* digest) {
  EVP_MD_CTX_free(digest);
}

}  // namespace

// Small pieces are gathered, since each call of the library costs more than hashing them.
struct Sha256Stream::State {
  Owned<EVP_MD_CTX, FreeDigest> digest;
  std::array<unsigned char, 16 << 10> block;
  size_t filled = 0;

  void Flush() {
    CHECK(EVP_DigestUpdate(digest.get(), block.data(), filled) == 1);
    filled = 0;
  }
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  state_->digest.reset(EVP_MD_CTX_new());
  CHECK(state_->digest != nullptr);
  CHECK(EVP_DigestInit_ex(state_->digest.get(), EVP_sha256(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(const void* bytes, size_t size) {
  State& state = *state_;
  if (size > state.block.size() - state.filled) state.Flush();
  if (size > state.block.size()) {
    CHECK(EVP_DigestUpdate(state.digest.get(), bytes, size) == 1);
    return;
  }
  std::memcpy(state.block.data() + state.filled, bytes, size);
  state.filled += size;
}

std::string Sha256Stream::Hex() {
  state_->Flush();
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  CHECK(EVP_DigestFinal_ex(state_->digest.get(), digest.data(), &length) == 1);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace roofmark
