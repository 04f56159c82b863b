// libFuzzer target: parses any bytes as an ONNX file and builds the graph with the real catalog,
// shape inference and constant folding included. Only lowtide::Error may come out.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lowtide/error.h"

#include "onnx/model_file.h"
#include "onnx/read.h"
#include "ops/catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const lowtide::onnx::ModelFile file =
        lowtide::onnx::parse(std::as_bytes(std::span(data, size)), "fuzz");
    lowtide::onnx::build(
        file,
        {.batch = 2, .catalog = lowtide::ops::catalog(), .fold_limit = lowtide::Bytes(64 * 1024)});
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  return 0;
}
