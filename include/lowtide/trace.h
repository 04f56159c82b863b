// TraceReport: where the time of one training step went, node by node.
#pragma once

#include <string>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide {

// One execution of one node.
struct TraceEvent {
  std::string name;    // of the node, after the file's own names
  std::string op;      // its type
  std::string phase;   // forward, loss, backward, update
  std::string kernel;  // what computed it
  double begin = 0;    // seconds since the step's first node began
  double seconds = 0;  // how long it took
  double flops = 0;    // floating-point operations that the op needs by definition
  Bytes traffic;       // bytes that it must read and write at least
  int repetition = 0;  // counts executions of the node within a pass, from 0
};

// What the machine can do at best, measured in this process.
struct MachinePeaks {
  double flops_per_second = 0;  // float32 multiply-adds in registers, all threads, 2 flops each
  double bytes_per_second = 0;  // reading memory in order, all threads
};

struct TraceReport {
  double seconds = 0;  // of the step: the fastest one so far
  MachinePeaks peaks;
  std::vector<TraceEvent> events;  // in the order of execution
};

}  // namespace lowtide
