// What `train --trace` writes and prints: a Chrome trace, and a table by op.
#pragma once

#include <filesystem>
#include <string>

#include "lowtide/trace.h"

namespace lowtide::cli {

// The step in Chrome's trace format (open it in chrome://tracing or ui.perfetto.dev). Throws
// Error(kIo).
void write_trace(const TraceReport& report, const std::filesystem::path& path);

// Time by op, the longest first, with the rates reached against what the machine can do.
std::string trace_text(const TraceReport& report);

}  // namespace lowtide::cli
