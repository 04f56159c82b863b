// The report: one self-contained page that shows a plan, and how training went.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "lowtide/plan.h"

#include "cli/report/curves.h"

namespace lowtide::cli {

struct PageContent {
  std::string model;  // for the title
  const PlanReport& plan;
  std::function<void(std::ostream&)> write_plan;  // plan_json
  const Curves* curves = nullptr;                 // of training, if there was any
};

// Throws Error(kIo).
void write_page(const std::filesystem::path& path, const PageContent& content);

}  // namespace lowtide::cli
