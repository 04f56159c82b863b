#include "kernels/dnnl/chain.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "kernels/dnnl/engine.h"
#include "kernels/dnnl/execute.h"

namespace lowtide::kernels {
namespace {

constexpr std::size_t kAlignment = 64;

thread_local bool in_library = false;

std::mutex counts_mutex;
PrimitiveCounts all_counts;  // guarded by it

class InLibrary {
 public:
  InLibrary() { in_library = true; }
  ~InLibrary() { in_library = false; }
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;
  InLibrary(InLibrary&&) = delete;
  InLibrary& operator=(InLibrary&&) = delete;
};

const dnnl::stream& process_stream() {
  static const dnnl::stream stream(process_engine());
  return stream;
}

}  // namespace

PrimitiveCounts primitive_counts() {
  const std::lock_guard lock(counts_mutex);
  return all_counts;
}

void prepare_general_product() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr dnnl_dim_t kSize = 16;
    const std::vector<float> a(kSize * kSize);
    std::vector<float> c(kSize * kSize);
    dnnl::sgemm('N', 'N', kSize, kSize, kSize, 1, a.data(), kSize, a.data(), kSize, 0, c.data(),
                kSize);
  });
}

bool inside_library() { return in_library; }

const dnnl::engine& process_engine() {
  static const dnnl::engine engine = [] {
    // Layers of equal shape share their generated code through the cache; a small one soon lets go
    // of what nobody runs any more.
    dnnl::set_primitive_cache_capacity(kCachedPrimitives);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::primitive_attr with_user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc dense(const std::vector<std::int64_t>& dims,
                         const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc dense_plain(const std::vector<std::int64_t>& dims) {
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return dense(dims, order);
}

dnnl::memory::desc dense_channels_last(const std::vector<std::int64_t>& dims) {
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return dense(dims, order);
}

Chain::~Chain() {
  const std::lock_guard lock(counts_mutex);
  all_counts -= counts_;
}

void Chain::count(const PrimitiveCounts& counts) {
  counts_ += counts;
  const std::lock_guard lock(counts_mutex);
  all_counts += counts;
}

Place Chain::reserve(std::size_t bytes) {
  const Place place{Place::In::kScratch, reserved_};
  reserved_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

void Chain::add_reorder(const Argument& from, const Argument& to) {
  const dnnl::reorder::primitive_desc desc(process_engine(), from.desc, process_engine(), to.desc,
                                           with_user_scratchpad());
  add(desc, {{DNNL_ARG_FROM, from.desc, from.place}, {DNNL_ARG_TO, to.desc, to.place}});
}

void Chain::add_step(dnnl::primitive primitive,
                     const dnnl::memory::desc& scratchpad,
                     std::vector<Argument> arguments) {
  if (scratchpad.get_size() > 0) {
    arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, {Place::In::kScratchpad, 0}});
    scratchpad_ = std::max(scratchpad_, scratchpad.get_size());
  }
  Step step;
  step.primitive = std::move(primitive);
  for (const Argument& argument : arguments) {
    step.memories.emplace_back(argument.desc, process_engine(), nullptr);  // set at each run
    step.arguments.push_back({argument.id, step.memories.back().get()});
    step.places.push_back(argument.place);
  }
  steps_.push_back(std::move(step));
}

Bytes Chain::scratch() const { return Bytes(static_cast<std::int64_t>(reserved_ + scratchpad_)); }

void Chain::run(std::span<const std::byte* const> in, std::byte* out, std::byte* scratch) const {
  const auto address = [&](const Place& place) -> void* {
    switch (place.in) {
      // oneDNN takes what it reads as void* too.
      case Place::In::kInput: return const_cast<std::byte*>(in[place.at]);
      case Place::In::kOutput: return out;
      case Place::In::kScratch: return scratch + place.at;
      case Place::In::kScratchpad: break;
    }
    return scratch + reserved_;
  };
  const InLibrary mark;
  for (const Step& step : steps_) {
    for (std::size_t i = 0; i < step.arguments.size(); ++i) {
      dnnl_memory_set_data_handle(step.arguments[i].memory, address(step.places[i]));
    }
    const dnnl_status_t status =
        dnnl_primitive_execute(step.primitive.get(), process_stream().get(),
                               static_cast<int>(step.arguments.size()), step.arguments.data());
    LT_CHECK(status == dnnl_success, "oneDNN failed in a primitive it had made");
  }
}

}  // namespace lowtide::kernels
