/** Metrics of the gateway as figures: what was counted between two looks at them. */

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Samples by the name of their metric. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** Prometheus text format 0.0.4, without timestamps. */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : LINE.exec(line)
    if (found === null) continue
    const [, name = '', inside = '', number = ''] = found
    const labels = Object.fromEntries(
      [...inside.matchAll(LABEL)].map(([, key, value]) => [key, unescaped(value ?? '')])
    )
    const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)
    const samples = metrics.get(name) ?? []
    samples.push({ labels, value })
    metrics.set(name, samples)
  }
  return metrics
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))

/** What the overview shows, at one time. */
export interface Point {
  /** Seconds since 1970. */
  readonly at: number
  /** In a second. */
  readonly requests: number
  readonly failed: number
  readonly refused: number
  /** Milliseconds; null: there was no request. */
  readonly p50: number | null
  readonly p99: number | null
  /** In a second. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** In an hour, in the currency of the prices. */
  readonly cost: number
  /** Open now. */
  readonly connections: number
  /** Of one core, 0..1 and above. */
  readonly cpu: number
  /** Bytes. */
  readonly memory: number
}

/** `seconds` lie between the two. A gateway that has begun anew in between counts from zero. */
export function pointOf(before: Metrics, now: Metrics, at: number, seconds: number): Point {
  const rate = (name: string, isWanted?: Wanted) =>
    Math.max(0, sumOf(now, name, isWanted) - sumOf(before, name, isWanted)) / seconds
  const tokens = (kind: string) => rate('gen_ai_client_token_usage_sum', (labels) => labels.gen_ai_token_type === kind)
  const growth = bucketsOf(before, now)
  return {
    at,
    requests: rate('weir_requests_total'),
    failed: rate('weir_requests_total', ({ status = '' }) => status.startsWith('5')),
    refused: rate('weir_requests_total', ({ status = '' }) => status.startsWith('4')),
    p50: quantile(growth, 0.5),
    p99: quantile(growth, 0.99),
    inputTokens: tokens('input'),
    outputTokens: tokens('output'),
    cost: rate('weir_llm_cost_total') * 3600,
    connections: sumOf(now, 'weir_downstream_connections'),
    cpu: rate('weir_process_cpu_seconds_total') + rate('process_cpu_seconds_total'),
    memory: sumOf(now, 'weir_process_resident_memory_bytes') + sumOf(now, 'process_resident_memory_bytes')
  }
}

type Wanted = (labels: Sample['labels']) => boolean

export function sumOf(metrics: Metrics, name: string, isWanted: Wanted = () => true): number {
  return (metrics.get(name) ?? []).reduce((sum, { labels, value }) => sum + (isWanted(labels) ? value : 0), 0)
}

/** Requests by their reason since the gateway began, the most frequent first; those of backends are left out. */
export function reasonsOf(
  metrics: Metrics
): readonly { readonly reason: string; readonly status: string; readonly count: number }[] {
  const counts = new Map<string, number>()
  for (const { labels, value } of metrics.get('weir_requests_total') ?? []) {
    const { reason = '', status = '' } = labels
    if (reason === 'Upstream' || reason === 'DirectResponse') continue
    counts.set(`${reason} ${status}`, (counts.get(`${reason} ${status}`) ?? 0) + value)
  }
  return [...counts]
    .map(([key, count]) => ({ reason: key.split(' ')[0]!, status: key.split(' ')[1] ?? '', count }))
    .toSorted((a, b) => b.count - a.count)
}

/** Seconds -> how many more took that long at most, over all routes. */
type Buckets = ReadonlyMap<number, number>

function bucketsOf(before: Metrics, now: Metrics): Buckets {
  const sums = new Map<number, number>()
  const add = (metrics: Metrics, sign: number) => {
    for (const { labels, value } of metrics.get('weir_request_duration_seconds_bucket') ?? []) {
      const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
      sums.set(bound, (sums.get(bound) ?? 0) + sign * value)
    }
  }
  add(now, 1)
  add(before, -1)
  return new Map([...sums].toSorted(([a], [b]) => a - b))
}

/** Milliseconds, between the bounds of the bucket in a straight line, as Prometheus does it. */
function quantile(buckets: Buckets, share: number): number | null {
  const whole = buckets.get(Number.POSITIVE_INFINITY) ?? 0
  if (whole <= 0) return null
  let [lower, below] = [0, 0]
  for (const [bound, count] of buckets) {
    if (count >= share * whole) {
      if (bound === Number.POSITIVE_INFINITY) return lower * 1000
      const part = count === below ? 1 : (share * whole - below) / (count - below)
      return (lower + (bound - lower) * part) * 1000
    }
    ;[lower, below] = [bound, count]
  }
  return null
}
