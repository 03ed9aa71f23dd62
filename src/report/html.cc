// SPDX-License-Identifier: Apache-2.0
// One page that carries everything: style, script, chart library and data. Reports travel, and the
// strings in them come from candidates, so the page trusts none of them: the data cannot end its
// script element, the script only ever sets text, and the content security policy admits just the
// scripts that stand here, by hash, and no request to anywhere.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "report/embedded_internal.h"
#include "report/html_internal.h"
#include "report/report.h"

namespace roofmark::report {
namespace {

int HexDigit(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

// The hash of a script as a policy writes it: base64 of SHA-256.
std::string PolicyHash(std::string_view script) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = Sha256Hex(script);
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 3) {  // three hexadecimal digits are two of base64
    int bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits * 16 + (i + k < hex.size() ? HexDigit(hex[i + k]) : 0);
    out.push_back(kDigits[static_cast<size_t>(bits / 64)]);
    out.push_back(kDigits[static_cast<size_t>(bits % 64)]);
  }
  return "'sha256-" + out.substr(0, 43) + "='";
}

bool ContainsNoCase(std::string_view text, std::string_view lower) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
  };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string EscapeForScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    // Only strings of a JSON document can hold these, and there the escape means the same.
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

Result<std::string> FillTemplate(std::string_view text, const std::vector<Slot>& slots) {
  std::string out;
  while (true) {
    const size_t open = text.find("{{");
    if (open == std::string_view::npos) return out += text;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos)
      return Fail(ErrorKind::kInput, "template: '{{' stays open");
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto slot = std::ranges::find(slots, name, &Slot::name);
    if (slot == slots.end()) {
      return Fail(ErrorKind::kInput, fmt::format("template: nothing fills '{}'", name));
    }
    out += text.substr(0, open);
    out += slot->text;  // not searched again: what fills a slot cannot open another
    text.remove_prefix(close + 2);
  }
}

Result<std::string> ToHtml(const Run& run, std::string_view plotly) {
  if (plotly.find("plotly.js v") == std::string_view::npos) {
    return Fail(ErrorKind::kInput, "the chart library is not plotly.js: its banner is missing");
  }
  if (ContainsNoCase(plotly, "</script") || ContainsNoCase(plotly, "<!--")) {
    return Fail(ErrorKind::kInput,
                "the chart library holds text that would end its script element");
  }
  const std::string script =
      fmt::format("\"use strict\";\n(() => {{\n{}\n{}\n{}\n{}\n}})();\n", kReportFormatJs,
                  kReportChartsJs, kReportTablesJs, kReportPageJs);
  const std::string data = EscapeForScript(ToJson(run).Dump());
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data: blob:; "
      "base-uri 'none'; form-action 'none'",
      PolicyHash(plotly), PolicyHash(script));
  return FillTemplate(kReportHtml, {{"title", EscapeHtml(run.title)},
                                    {"policy", policy},
                                    {"css", kReportCss},
                                    {"plotly", plotly},
                                    {"script", script},
                                    {"data", data}});
}

}  // namespace roofmark::report
