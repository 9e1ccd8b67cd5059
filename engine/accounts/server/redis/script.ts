/**
 * What Redis and Valkey do with operations (operations.ts): one script, which runs alone from its begin to its end. All
 * keys begin with KEYS[1], which has a hash tag: in a cluster they are in one slot, and so on one server.
 *
 * b:<budget> hash      start, end, used (spent or set aside), spent, short (the one call that did not fit)
 * p:<budget> hash      of a rolling budget: begin of a part -> nanos
 * a:<account>          requests under way
 * l:<bucket> hash      level, at (begin of its period)
 * w:<writer> hash      last; r<call>: what is set aside; x<call>: what counts as spent since the writer was taken for
 *                      dead; c<account>: requests under way
 * writers    sorted    names by when they were last heard of
 * keys       hash      name -> JSON;  version: counts their changes
 * o:<holder> sorted    objects of providers by when they were made or shown (connect.ts)
 */
import { KEPT_MS } from '#engine/accounts/server/operations.ts'

const BUDGETS = `
local base = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local KEPT = ${KEPT_MS}
local FOR_EVER = 8.64e15

-- tostring would write 1e+15.
local function text(n) return string.format('%.0f', n) end

local function row(id)
  local key = base .. 'b:' .. id
  local v = redis.call('HMGET', key, 'start', 'end', 'used', 'spent', 'short')
  return {id = id, key = key, start = tonumber(v[1]), stop = tonumber(v[2]),
    used = tonumber(v[3] or 0), spent = tonumber(v[4] or 0), short = v[5] or ''}
end

local function begin(b, start, stop)
  b.start, b.stop, b.used, b.spent, b.short = start, stop, 0, 0, ''
  redis.call('HSET', b.key, 'start', text(start), 'end', text(stop), 'used', 0, 'spent', 0, 'short', '')
  if stop < FOR_EVER then redis.call('PEXPIREAT', b.key, text(stop + KEPT)) end
end

-- Parts are added by strings: numbers of Lua are exact to 2^53 only.
local function add(b, used, spent, unit)
  redis.call('HINCRBY', b.key, 'used', used)
  redis.call('HINCRBY', b.key, 'spent', spent)
  if unit > 0 and spent ~= '0' then
    redis.call('HINCRBY', base .. 'p:' .. b.id, text(math.floor(now / unit) * unit), spent)
  end
end

local function forget(b, rolling, unit)
  local key = base .. 'p:' .. b.id
  local parts = redis.call('HGETALL', key)
  for i = 1, #parts, 2 do
    if tonumber(parts[i]) + unit + rolling <= now then
      redis.call('HDEL', key, parts[i])
      local amount = tonumber(parts[i + 1])
      b.used, b.spent = b.used - amount, b.spent - amount
      add(b, text(-amount), text(-amount), 0)
    end
  end
  redis.call('PEXPIRE', key, text(rolling + KEPT))
  redis.call('PEXPIRE', b.key, text(rolling + KEPT))
end

-- The period in force, which is the begun one until its end; nil: that of the part is another one.
local function current(part)
  local b = row(part[1])
  if part[5] > 0 then
    if b.start then forget(b, part[5], part[6]) else begin(b, 0, FOR_EVER) end
  elseif not b.start or now >= b.stop then
    if now < part[3] or now >= part[4] then return nil end
    begin(b, part[3], part[4])
  end
  return b
end

-- The period in which something was set aside; nil: it is over and its money forgotten.
local function former(id, start, stop)
  local b = row(id)
  if not b.start or b.start < start then
    if now >= stop then return nil end
    begin(b, start, stop)
  end
  if b.start ~= start then return nil end
  return b
end

local function free(b, call) if b.short == call then redis.call('HSET', b.key, 'short', '') end end
`

const LIMITS = `
local function filled(bucket)
  local key = base .. 'l:' .. bucket[1]
  local v = redis.call('HMGET', key, 'level', 'at')
  local level, at = tonumber(v[1] or bucket[2]), tonumber(v[2] or now)
  local periods = math.floor((now - at) / bucket[4])
  if periods > 0 then
    level, at = math.min(bucket[2], level + periods * bucket[3]), at + periods * bucket[4]
  end
  return {key = key, level = level, at = at}
end

local function write(l, level, bucket)
  redis.call('HSET', l.key, 'level', text(level), 'at', text(l.at))
  redis.call('PEXPIRE', l.key, text((math.ceil((bucket[2] - level) / bucket[3]) + 1) * bucket[4]))
end

local function wait(l, need, bucket)
  local periods = math.max(1, math.ceil((need - l.level) / bucket[3]))
  return math.max(0, l.at + periods * bucket[4] - now)
end

local function beginCall(writer, accounts, buckets)
  for i, account in ipairs(accounts) do
    local count = tonumber(redis.call('GET', base .. 'a:' .. account[1]) or 0)
    if count >= account[2] then return {0, 'account', i - 1, 0} end
  end
  local found, left, waits = {}, {}, {}
  for i, bucket in ipairs(buckets) do
    found[i] = filled(bucket)
    if found[i].level < 1 then return {0, 'bucket', i - 1, wait(found[i], 1, bucket)} end
  end
  for i, bucket in ipairs(buckets) do
    left[i], waits[i] = found[i].level - bucket[5], wait(found[i], 0, bucket)
    write(found[i], left[i], bucket)
  end
  for _, account in ipairs(accounts) do
    redis.call('INCR', base .. 'a:' .. account[1])
    redis.call('HINCRBY', writer, 'c' .. account[1], 1)
  end
  return {1, left, waits}
end

local function endCall(writer, accounts)
  for _, account in ipairs(accounts) do
    if redis.call('HEXISTS', writer, 'c' .. account) == 1 then
      if redis.call('HINCRBY', writer, 'c' .. account, -1) < 1 then redis.call('HDEL', writer, 'c' .. account) end
      if redis.call('DECR', base .. 'a:' .. account) < 1 then redis.call('DEL', base .. 'a:' .. account) end
    end
  end
end

local function charge(buckets)
  for _, bucket in ipairs(buckets) do
    local l = filled(bucket)
    write(l, math.max(l.level - bucket[5], -${2 ** 31}), bucket)
  end
end
`

const CALLS = `
local function reserve(name, writer, n, bound, parts)
  local wanted, call, rows = tonumber(bound), name .. ' ' .. text(n), {}
  for i, part in ipairs(parts) do
    local b = current(part)
    if not b then return {2} end
    local left = tonumber(part[2]) - b.used
    if left < wanted and (left <= 0 or b.short ~= '') then return {0, i - 1, text(b.spent), b.stop} end
    b.taken = left < wanted and text(left) or bound
    b.isShort = left < wanted
    rows[i] = b
  end
  local taken, noted = {}, {}
  for i, b in ipairs(rows) do
    add(b, b.taken, '0', 0)
    if b.isShort then redis.call('HSET', b.key, 'short', call) end
    taken[i] = b.taken
    noted[i] = table.concat({b.id, text(b.start), text(b.stop), b.taken, text(parts[i][6])}, '\\t')
  end
  redis.call('HSET', writer, 'r' .. text(n), table.concat(noted, '\\n'))
  return {1, taken}
end

-- Calls act with (budget, what was set aside, unit) for each part of a note.
local function each(note, act)
  for line in string.gmatch(note, '[^\\n]+') do
    local id, start, stop, taken, unit = string.match(line, '^(.-)\\t(%d+)\\t(%d+)\\t(%d+)\\t(%d+)$')
    local b = former(id, tonumber(start), tonumber(stop))
    if b then act(b, taken, tonumber(unit)) end
  end
end

local function minus(a, b) return text(tonumber(a) - tonumber(b)) end

local function addAll(parts, amount)
  for _, part in ipairs(parts) do
    local b = former(part[1], part[5] > 0 and 0 or part[3], part[5] > 0 and FOR_EVER or part[4])
    if b then add(b, amount, amount, part[6]) end
  end
end

local function settle(name, writer, of, cost, parts)
  local open, dead = 'r' .. text(of), 'x' .. text(of)
  local note, late = redis.call('HGET', writer, open), redis.call('HGET', writer, dead)
  if note then
    each(note, function(b, taken, unit)
      add(b, minus(cost, taken), cost, unit)
      free(b, name .. ' ' .. text(of))
    end)
    redis.call('HDEL', writer, open)
  elseif late then
    each(late, function(b, taken, unit) add(b, minus(cost, taken), minus(cost, taken), unit) end)
    redis.call('HDEL', writer, dead)
  elseif cost ~= '0' then
    addAll(parts, cost)
  end
end
`

const COMMANDS = `
local function apply(name, behind, operations)
  local writer, answers = base .. 'w:' .. name, {}
  local fresh = redis.call('ZADD', base .. 'writers', text(now), name) == 1
  if fresh then redis.call('PERSIST', writer) end
  local last = tonumber(redis.call('HGET', writer, 'last') or 0)
  if last < behind then return redis.error_reply('GAP an earlier batch of this writer is missing') end
  for i, o in ipairs(operations) do
    local kind, n, answer = o[1], o[2], cjson.null
    if n > last then
      last = n
      if kind == 'begin' then answer = beginCall(writer, o[3], o[4])
      elseif kind == 'reserve' then answer = reserve(name, writer, n, o[3], o[4])
      elseif kind == 'end' then endCall(writer, o[3])
      elseif kind == 'settle' then settle(name, writer, o[3], o[4], o[5])
      elseif kind == 'correct' then addAll(o[4], o[3])
      elseif kind == 'charge' then charge(o[3]) end
    end
    answers[i] = answer
  end
  redis.call('HSET', writer, 'last', text(last))
  return cjson.encode({now = now, fresh = fresh, answers = answers})
end

local function reap(deadMs)
  local calls = 0
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', base .. 'writers', '-inf', text(now - deadMs), 'LIMIT', 0, 64)) do
    local writer = base .. 'w:' .. name
    local fields = redis.call('HGETALL', writer)
    for i = 1, #fields, 2 do
      local kind, what, value = string.sub(fields[i], 1, 1), string.sub(fields[i], 2), fields[i + 1]
      if kind == 'c' then
        redis.call('DECRBY', base .. 'a:' .. what, value)
        redis.call('HDEL', writer, fields[i])
      elseif kind == 'r' then
        each(value, function(b, taken, unit)
          add(b, '0', taken, unit)
          free(b, name .. ' ' .. what)
        end)
        redis.call('HDEL', writer, fields[i])
        redis.call('HSET', writer, 'x' .. what, value)
        calls = calls + 1
      end
    end
    redis.call('ZREM', base .. 'writers', name)
    redis.call('PEXPIRE', writer, text(KEPT))
  end
  return calls
end

local function changeKey(name, before, after)
  if (redis.call('HGET', base .. 'keys', name) or '') ~= before then return 0 end
  if after == '' then redis.call('HDEL', base .. 'keys', name) else redis.call('HSET', base .. 'keys', name, after) end
  redis.call('INCR', base .. 'version')
  return 1
end

local command = ARGV[1]
if command == 'apply' then return apply(ARGV[2], tonumber(ARGV[3]), cjson.decode(ARGV[4])) end
if command == 'reap' then return reap(tonumber(ARGV[2])) end
return changeKey(ARGV[2], ARGV[3], ARGV[4])
`

export const SCRIPT = [BUDGETS, LIMITS, CALLS, COMMANDS].join('')
