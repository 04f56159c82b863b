#include "cli/report/html_page.h"

#include <algorithm>
#include <ostream>
#include <streambuf>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/report/page/page.h"
#include "cli/report/report_json.h"
#include "cli/report/sweep_text.h"
#include "cli/report/whole_file.h"

namespace lowtide::cli {
namespace {

// Passes JSON on so that it may stand inside a page: '<' occurs in strings only, where it can be
// written in another way.
class Escaped final : public std::streambuf {
 public:
  explicit Escaped(std::ostream& out) : out_(out) {}

 protected:
  int_type overflow(int_type byte) override {
    if (byte == '<') {
      out_ << "\\u003c";
    } else if (byte != traits_type::eof()) {
      out_.put(static_cast<char>(byte));
    }
    return out_ ? byte : traits_type::eof();
  }

 private:
  std::ostream& out_;
};

nlohmann::json report_json(const PageContent& content) {
  const PlanReport& plan = content.plan;
  nlohmann::json json = plan_json(plan);
  json.update({{"model", content.model},
               {"batch", plan.batch},
               {"micro_batch", plan.micro_batch},
               {"costs", plan.costs},
               {"budget_bytes", plan.budget.count()},
               {"smallest_feasible_bytes", plan.smallest_feasible.count()},
               {"arena_bytes", plan.arena.count()},
               {"runtime_bytes", plan.runtime.count()},
               {"notes", plan.notes}});
  return json;
}

nlohmann::json tensors_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const IdleTensor& tensor : plan.idle_tensors) {
    list.push_back({{"name", tensor.name},
                    {"bytes", tensor.bytes.count()},
                    {"repeatable", tensor.repeatable},
                    {"again_seconds", tensor.again_seconds},
                    {"why", tensor.why}});
  }
  return list;
}

nlohmann::json curves_json(const Curves& curves) {
  nlohmann::json json = {{"step", nlohmann::json::array()},
                         {"loss", nlohmann::json::array()},
                         {"lr", nlohmann::json::array()},
                         {"samples_per_second", nlohmann::json::array()}};
  for (const Curves::Point& point : curves.points()) {
    json["step"].push_back(point.step);
    json["loss"].push_back(point.loss);
    json["lr"].push_back(point.lr);
    json["samples_per_second"].push_back(point.samples_per_second);
  }
  nlohmann::json& validation = json["validation"];
  validation = {{"step", nlohmann::json::array()},
                {"loss", nlohmann::json::array()},
                {"metrics", nlohmann::json::object()}};
  for (const Curves::Validation& point : curves.validations()) {
    validation["step"].push_back(point.step);
    validation["loss"].push_back(point.loss);
    for (const auto& [name, value] : point.metrics) validation["metrics"][name].push_back(value);
  }
  return json;
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_data(std::ostream& page, const PageContent& content) {
  Escaped buffer(page);
  std::ostream stream(&buffer);
  stream << "{\"report\":" << dump(report_json(content))
         << ",\n\"tensors\":" << dump(tensors_json(content.plan))
         << ",\n\"sweep\":" << (content.plan.sweep ? dump(sweep_json(*content.plan.sweep)) : "null")
         << ",\n\"log\":"
         << (content.curves != nullptr ? dump(curves_json(*content.curves)) : "null")
         << ",\n\"plan\":";
  content.write_plan(stream);
  stream << "}";
}

}  // namespace

void write_page(const std::filesystem::path& path, const PageContent& content) {
  write_whole(path, "report", [&](std::ostream& stream) {
    std::string_view rest = kPageHtml;
    const auto write_until = [&](std::string_view mark) {
      const std::size_t at = rest.find(mark);
      stream << rest.substr(0, at);
      rest.remove_prefix(std::min(rest.size(), at + mark.size()));
    };
    write_until("@STYLE@");
    stream << kPageCss;
    write_until("@DATA@");
    write_data(stream, content);
    write_until("@SCRIPT@");
    stream << kPageJs << rest;
  });
}

}  // namespace lowtide::cli
