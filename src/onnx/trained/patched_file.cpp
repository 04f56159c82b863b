#include "onnx/trained/patched_file.h"

#include <algorithm>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

void PatchedFile::claim(const TensorRef& tensor, const ByteSource* bytes) {
  const std::int64_t length = tensor.bytes_in_file().count();
  if (length == 0) return;
  places_.emplace(tensor.offset, Place{length, tensor.name, bytes});
  claimed_end_ = std::max(claimed_end_, tensor.offset + length);
}

void PatchedFile::check() const {
  std::int64_t end = 0;          // of all places so far
  std::int64_t patched_end = 0;  // of those with new bytes
  for (const auto& [begin, place] : places_) {
    if (begin < (place.bytes != nullptr ? end : patched_end)) {
      throw fail(ErrorCode::kUnsupported, "tensor '{}' shares its bytes with another one",
                 place.name);
    }
    end = std::max(end, begin + place.length);
    if (place.bytes != nullptr) patched_end = end;
  }
}

void PatchedFile::copy(std::int64_t begin, std::int64_t end, Pieces& to) const {
  for (auto at = places_.lower_bound(begin); at != places_.end() && at->first < end; ++at) {
    const Place& place = at->second;
    if (place.bytes == nullptr) continue;
    to.add_range(file_, begin, at->first);
    to.add_source(*place.bytes, place.length);
    begin = at->first + place.length;
  }
  to.add_range(file_, begin, end);
}

}  // namespace lowtide::onnx
