// libFuzzer target: reads any bytes as a plan file and holds every plan in it against a small
// training graph. Only lowtide::Error may come out, and a plan that passes the check must run.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lowtide/error.h"

#include "plan/execute.h"
#include "plan/file/plan_file.h"
#include "plan/toy_net.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lowtide::plan::ToyNet net = lowtide::plan::random_net(7);
  static const lowtide::plan::Results expected = lowtide::plan::evaluate(net.graph);
  try {
    const lowtide::plan::PlanFile file = lowtide::plan::parse_plan_file(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    for (const lowtide::plan::FileProgram& program : file.programs) {
      // An arena that no test machine has is right, but cannot be run.
      if (program.plan.arena_bytes > lowtide::Bytes(1 << 20)) continue;
      if (program.plan.spill_bytes > lowtide::Bytes(1 << 20)) continue;
      if (!net.check(program.plan).empty()) continue;
      if (lowtide::plan::execute(net.graph, program.plan) != expected) __builtin_trap();
    }
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  return 0;
}
