-- Requests for wrk: kind, number of teachers and API key come after `--`.
local kind, teachers, headers

function init(args)
  kind, teachers = args[1], tonumber(args[2])
  headers = { ["Authorization"] = "Bearer " .. args[3], ["Content-Type"] = "application/json" }
  math.randomseed(os.time())
end

local function check()
  return string.format('{"identifier":{"regNo":"TR/2020/LA/%06d"},"purpose":"GENERAL_PUBLIC_VERIFICATION"}', math.random(teachers))
end

function request()
  if kind == "lookup" then
    return wrk.format("GET", string.format("/teacher/verify-license?searchTerm=TR/2020/LA/%06d", math.random(teachers)))
  end
  if kind == "check" then
    return wrk.format("POST", "/v1/inter-agency/eligibility-check", headers, check())
  end
  local items = {}
  for i = 1, 100 do items[i] = check() end
  return wrk.format("POST", "/v1/inter-agency/batch", headers, '{"items":[' .. table.concat(items, ",") .. "]}")
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format('LOAD {"requests":%d,"failed":%d,"seconds":%.6f,"p50Ms":%.4f,"p99Ms":%.4f}',
    summary.requests, failed, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
