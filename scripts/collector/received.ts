/** What a collector has written, as far as the conformance run compares it (OTLP, "JSON Protobuf Encoding"). */

type Value = string | number | boolean

interface KeyValue {
  readonly key: string
  readonly value: {
    readonly stringValue?: string
    readonly intValue?: string
    readonly boolValue?: boolean
    readonly doubleValue?: number
    readonly arrayValue?: { readonly values: readonly { readonly stringValue?: string }[] }
  }
}

interface Point {
  readonly attributes?: readonly KeyValue[]
  readonly asInt?: string
  readonly asDouble?: number
  readonly count?: string
  readonly timeUnixNano: string
}

interface Data {
  readonly dataPoints: readonly Point[]
}

export interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes?: readonly KeyValue[]
}

export interface LogRecord {
  readonly body: { readonly stringValue?: string }
  readonly severityText: string
  readonly traceId?: string
  readonly spanId?: string
}

export interface Metric {
  readonly name: string
  readonly attributes: Readonly<Record<string, Value>>
  /** Of a histogram: its count. */
  readonly value: number
  readonly at: bigint
  /** service.instance.id */
  readonly instance: Value | undefined
}

interface Export {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
  readonly resourceLogs?: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[] }[]
  readonly resourceMetrics?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string
        readonly sum?: Data
        readonly gauge?: Data
        readonly histogram?: Data
      }[]
    }[]
  }[]
}

export interface Received {
  readonly spans: readonly Span[]
  readonly records: readonly LogRecord[]
  readonly metrics: readonly Metric[]
}

export function receivedOf(lines: readonly unknown[]): Received {
  // The collector writes them by the official messages.
  const exports = lines as readonly Export[]
  return {
    spans: exports.flatMap(({ resourceSpans = [] }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    ),
    records: exports.flatMap(({ resourceLogs = [] }) =>
      resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    ),
    metrics: exports.flatMap(metricsOf)
  }
}

function metricsOf({ resourceMetrics = [] }: Export): Metric[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) => {
    const instance = attributesOf(resource.attributes)['service.instance.id']
    return scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ name, sum, gauge, histogram }) =>
        (sum ?? gauge ?? histogram)!.dataPoints.map((point) => ({
          name,
          attributes: attributesOf(point.attributes ?? []),
          value: Number(point.count ?? point.asInt ?? point.asDouble ?? 0),
          at: BigInt(point.timeUnixNano),
          instance
        }))
      )
    )
  })
}

function attributesOf(all: readonly KeyValue[]): Record<string, Value> {
  return Object.fromEntries(
    all.map(({ key, value }) => [key, value.stringValue ?? value.boolValue ?? Number(value.intValue)])
  )
}
