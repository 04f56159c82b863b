// Plan: a flat list of steps over buffers with fixed offsets in one arena. A value type: planners
// make it, plan::check proves it, run::bind obeys it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lowtide/bytes.h"

#include "core/ids.h"
#include "graph/graph.h"
#include "plan/policy.h"

namespace lowtide::plan {

using graph::NodeId;
using graph::ValueId;

struct BufferTag;
using BufferId = core::Id<BufferTag>;

// What one node costs, measured or by a model. Indexed by NodeId.
struct NodeCost {
  double seconds = 0;
  Bytes scratch;  // of the kernel that will run
};
using Costs = core::IdVector<NodeId, NodeCost>;

enum class BufferKind : std::uint8_t {
  kPersistent,  // state or a constant: placed by the caller, in use during the whole program
  kTransient,   // an input, an activation, a gradient
  kScratch,     // one step's workspace
};

// A stretch of the arena in use from step `first` to step `last`, both included. Inputs are in use
// from step 0 on, outputs until the last step. Several values may pass through one buffer: views of
// the same bytes, and values written in place over one another.
struct Buffer {
  BufferKind kind = BufferKind::kTransient;
  ValueId value;  // the first value in it; invalid for scratch
  Bytes size;     // a multiple of kAlignment
  Bytes offset;   // from the arena's start, a multiple of kAlignment
  std::int32_t first = 0;
  std::int32_t last = 0;
};

inline constexpr Bytes kAlignment{64};

// Where a step finds or leaves one value: `within` bytes into a buffer.
struct Place {
  BufferId buffer;
  Bytes within;

  bool operator==(const Place&) const = default;
};

// One execution of one node.
struct Step {
  NodeId node;
  bool again = false;      // a recomputation: the node ran before in this program
  std::vector<Place> in;   // one per input of the node
  std::vector<Place> out;  // one per output; equal to an input's place where storage is shared
  BufferId scratch;        // invalid where the kernel needs none
};

// A stretch of the spill file: the home of a persistent value between steps, or the place of a
// transient one while it is out of memory.
struct SlotTag;
using SlotId = core::Id<SlotTag>;
struct Slot {
  ValueId value;  // the first one in it
  Bytes offset;   // from the file's start
  Bytes size;     // both multiples of kSlotAlignment
};

inline constexpr Bytes kSlotAlignment{4096};

// By ValueId, the offset in the spill file of the persistent values that live there between steps,
// and kInArena for all others. Empty where none does.
using FileOffsets = core::IdVector<ValueId, Bytes>;
inline constexpr Bytes kInArena{-1};

inline bool in_file(const FileOffsets& offsets, ValueId id) {
  return offsets.contains(id) && offsets[id] != kInArena;
}

enum class Direction : std::uint8_t { kStore, kFetch };

// A copy between a buffer and a slot that goes on while steps run. Before step i, in this order:
// transfers that began earlier and finish at i are waited for; stores that start at i begin; those
// of them that finish at i are waited for; fetches that start at i begin; those that finish at i
// are waited for. Those of one direction begin in the plan's order, and one after another is
// through. A buffer is in use while steps run between a transfer's start and its finish.
struct Transfer {
  Direction direction = Direction::kStore;
  ValueId value;  // whose bytes move; not a view
  Place place;    // at a multiple of kTransferAlignment in the arena
  SlotId slot;
  std::int32_t start = 0;   // begins before this step
  std::int32_t finish = 0;  // is through before this step; steps.size(): before the program ends
};

inline constexpr Bytes kTransferAlignment{512};

// Bytes a second that transfers reach, each direction by itself.
struct SpillRates {
  double store = 0;
  double fetch = 0;
};

// What planning knows of the spill file.
struct SpillTier {
  SpillRates rates;
  Bytes limit;                // the file is never larger
  Bytes smallest{64 * 1024};  // tensors below stay: a transfer of them is mostly overhead
};

struct Plan {
  Policy policy = Policy::kKeep;
  std::vector<Step> steps;
  core::IdVector<BufferId, Buffer> buffers;
  Bytes arena_bytes;      // end of the highest buffer, persistent ones included
  Bytes peak_live_bytes;  // most bytes in use at one step, persistent ones included: the lower
                          // bound of arena_bytes; their difference is fragmentation
  std::int32_t peak_step = 0;
  double predicted_seconds = 0;  // sum over the steps, and what they wait for transfers
  // No plan in this order that fits the same arena can be faster. (With spilling: every node once.)
  double lower_bound_seconds = 0;
  int kept = 0;        // forward values that stay from the forward to the backward pass
  int recomputed = 0;  // steps that are recomputations

  std::vector<Transfer> transfers;  // by start
  core::IdVector<SlotId, Slot> slots;
  Bytes spill_bytes;         // end of the highest slot, those of persistent values included
  SpillRates rates;          // that the prediction is made with
  double stall_seconds = 0;  // of the prediction: steps wait for transfers
};

// Bytes that a step moves in one direction.
Bytes traffic(const graph::Graph& graph, const Plan& plan, Direction direction);

// A tensor that is in memory at the peak, for messages.
struct Resident {
  std::string name;
  Bytes bytes;
};

struct Infeasible {
  Bytes smallest_arena_bytes;       // make() succeeds at this number and not below
  std::string peak_node;            // where the smallest plan needs the most
  std::vector<Resident> residents;  // the largest tensors there, largest first, at most ten
};

struct Request {
  const graph::Graph& graph;
  const Costs& costs;
  // Offsets of persistent values in the arena, by ValueId; every persistent value that has no
  // producer must have one. Bytes [0, persistent_bytes) belong to them alone.
  const core::IdVector<ValueId, Bytes>& persistent_offsets;
  Bytes persistent_bytes;
  Bytes arena_bytes;  // the arena's size: the plan must end at or below
  Policy policy = Policy::kLowtide;
};

// The cheapest plan of the policy that fits. Deterministic; the candidates do not depend on the
// budget, so a larger arena never gives a slower plan, and `smallest_arena_bytes` is exact.
std::variant<Plan, Infeasible> make(const Request& request);

// Everything wrong with a plan; empty when it is right. Shares no code with make(): replays the
// steps on byte ranges and checks that each read finds the right version of its value whole, that
// nothing in use is overwritten, that sharing is what the ops' cards allow, that state changes once
// and recomputation only repeats what may be repeated, that sizes, alignment, the persistent area
// and arena_bytes hold; that transfers carry the value they name, that nothing touches their bytes
// while they are under way, and that every value whose home is the file is back there at the end.
// `persistent_offsets` is not asked for values that `file_offsets` places.
std::vector<std::string> check(const graph::Graph& graph,
                               const Costs& costs,
                               const core::IdVector<ValueId, Bytes>& persistent_offsets,
                               const Plan& plan,
                               const FileOffsets& file_offsets = {});

// Stable text for people and golden tests. (For other programs: plan/file/.)
std::string to_text(const graph::Graph& graph, const Plan& plan);

}  // namespace lowtide::plan
