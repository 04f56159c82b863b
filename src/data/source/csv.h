// A CSV file of numbers: a row is a sample, a column its label.
#pragma once

#include <filesystem>
#include <memory>

#include "data/dataset.h"

namespace lowtide::data {

// The first line names the columns. Fields: "features", float32, every column but the label's in
// the file's order, each normalised by itself; and the label: int64 where all labels are whole
// numbers or texts (then counted in the order of their names), else float32. The file is checked
// and turned into numbers once, into a temporary file. Throws Error(kInvalidFile) naming line and
// column of what is missing or no number.
std::shared_ptr<const Dataset> open_csv(const std::filesystem::path& path,
                                        const OpenOptions& options);

}  // namespace lowtide::data
