// Watch: looks on while a program runs, and may stop it.
#pragma once

#include <cstddef>
#include <span>

#include "graph/ids.h"

namespace lowtide::run {

class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Watch(Watch&&) = delete;
  Watch& operator=(Watch&&) = delete;
  virtual ~Watch() = default;

  // Before a node runs: where its inputs lie. Not called for views, which do no work.
  virtual void before(graph::NodeId /*node*/, std::span<const std::byte* const> /*in*/) {}
  // After it has run: where its outputs lie. Inputs may be overwritten by now. False stops the
  // program here.
  virtual bool after(graph::NodeId node, std::span<std::byte* const> out) = 0;
};

}  // namespace lowtide::run
