/** Reads the Prometheus text format back, strictly: a line that is not understood fails the test. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Exposition {
  readonly samples: readonly Sample[]
  readonly types: ReadonlyMap<string, string>
  /** The value of the one sample with this name and exactly these labels. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/y

export function parseExposition(text: string): Exposition {
  if (!text.endsWith('\n')) throw new Error('the last line must end with a line feed')
  const samples: Sample[] = []
  const types = new Map<string, string>()
  for (const line of text.slice(0, -1).split('\n')) {
    if (line.startsWith('# HELP ')) continue
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (type !== null) {
      if (types.has(type[1]!)) throw new Error(`second TYPE of ${type[1]}`)
      types.set(type[1]!, type[2]!)
      continue
    }
    const match = SAMPLE.exec(line)
    if (match === null) throw new Error(`not a sample: ${line}`)
    const value = match[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[3])
    if (Number.isNaN(value)) throw new Error(`not a number: ${line}`)
    samples.push({ name: match[1]!, labels: parseLabels(match[2] ?? ''), value })
  }
  const keyOf = (name: string, labels: Readonly<Record<string, string>>) =>
    name + JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
  const byKey = new Map(samples.map((s) => [keyOf(s.name, s.labels), s.value]))
  if (byKey.size !== samples.length) throw new Error('a series appears twice')
  return { samples, types, value: (name, labels = {}) => byKey.get(keyOf(name, labels)) }
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex
    const match = LABEL.exec(text)
    if (match === null) throw new Error(`not a label: ${text.slice(at)}`)
    labels[match[1]!] = match[2]!.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))
  }
  return labels
}
