/** `node scripts/grafana.ts` writes docs/grafana/weir.json: a dashboard of what /metrics has. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

export const DASHBOARD = 'docs/grafana/weir.json'

interface Graph {
  readonly title: string
  readonly unit: string
  readonly about: string
  /** PromQL, with the name of each line. */
  readonly lines: readonly (readonly [expression: string, legend: string])[]
}

const RATE = '[$__rate_interval]'
const OF = '{instance=~"$instance"}'
const with_ = (labels: string) => `{instance=~"$instance", ${labels}}`
const rate = (metric: string, labels = OF) => `rate(${metric}${labels}${RATE})`
const share = (q: number, metric: string, by = 'le') =>
  `histogram_quantile(${q}, sum by (${by}) (${rate(`${metric}_bucket`)}))`

const ROWS: readonly (readonly [title: string, graphs: readonly Graph[]])[] = [
  [
    'Traffic',
    [
      {
        title: 'Requests',
        unit: 'reqps',
        about: 'By status.',
        lines: [[`sum by (status) (${rate('weir_requests_total')})`, '{{status}}']]
      },
      {
        title: 'Refused and failed, by reason',
        unit: 'reqps',
        about: 'Error codes: docs/rejections.md says what each means.',
        lines: [
          [`sum by (reason) (${rate('weir_requests_total', with_('reason!~"Upstream|DirectResponse"'))})`, '{{reason}}']
        ]
      },
      {
        title: 'Latency',
        unit: 's',
        about: 'From the head of the request to the last byte of the answer.',
        lines: [0.5, 0.9, 0.99].map((q) => [share(q, 'weir_request_duration_seconds'), `p${q * 100}`] as const)
      },
      {
        title: 'Bytes',
        unit: 'Bps',
        about: 'Of bodies, from and to clients.',
        lines: [
          [`sum(${rate('weir_request_bytes_total')})`, 'received'],
          [`sum(${rate('weir_response_bytes_total')})`, 'sent']
        ]
      }
    ]
  ],
  [
    'Backends',
    [
      {
        title: 'Addresses',
        unit: 'short',
        about: 'By whether they get requests.',
        lines: [[`sum by (state) (weir_upstream_addresses${OF})`, '{{state}}']]
      },
      {
        title: 'First byte of backends',
        unit: 's',
        about: 'From the head of the request to the head of the answer.',
        lines: [0.5, 0.99].map((q) => [share(q, 'weir_upstream_first_byte_seconds'), `p${q * 100}`] as const)
      },
      {
        title: 'Connections and retries',
        unit: 'short',
        about: 'Open connections to backends; attempts after the first.',
        lines: [
          [`sum by (state) (weir_upstream_connections${OF})`, '{{state}}'],
          [`sum(${rate('weir_upstream_retries_total')})`, 'retries in a second']
        ]
      }
    ]
  ],
  [
    'Models',
    [
      {
        title: 'Tokens',
        unit: 'short',
        about: 'In a second, by model and kind.',
        lines: [
          [
            `sum by (gen_ai_request_model, gen_ai_token_type) (${rate('gen_ai_client_token_usage_sum')})`,
            '{{gen_ai_request_model}} {{gen_ai_token_type}}'
          ]
        ]
      },
      {
        title: 'Cost in an hour',
        unit: 'currencyUSD',
        about: 'In the currency of the prices.',
        lines: [[`sum by (gen_ai_request_model) (${rate('weir_llm_cost_total')}) * 3600`, '{{gen_ai_request_model}}']]
      },
      {
        title: 'Time to the first token',
        unit: 's',
        about: 'Of streamed answers.',
        lines: [0.5, 0.99].map((q) => [share(q, 'gen_ai_server_time_to_first_token_seconds'), `p${q * 100}`] as const)
      },
      {
        title: 'Tools of MCP servers',
        unit: 's',
        about: 'How long operations take.',
        lines: [0.5, 0.99].map((q) => [share(q, 'mcp_server_operation_duration_seconds'), `p${q * 100}`] as const)
      }
    ]
  ],
  [
    'Process',
    [
      {
        title: 'CPU',
        unit: 'percentunit',
        about: 'Of one processor.',
        lines: [[rate('process_cpu_seconds_total'), '{{instance}}']]
      },
      {
        title: 'Memory',
        unit: 'bytes',
        about: 'Resident, and of it bodies that are kept.',
        lines: [
          [`process_resident_memory_bytes${OF}`, '{{instance}}'],
          [`weir_buffered_bytes${OF}`, '{{instance}} bodies']
        ]
      },
      {
        title: 'File descriptors',
        unit: 'short',
        about: 'Open, and how many may be.',
        lines: [
          [`process_open_fds${OF}`, '{{instance}}'],
          [`process_max_fds${OF}`, '{{instance}} limit']
        ]
      },
      {
        title: 'Event loop',
        unit: 's',
        about: 'How late it ran: the 99th percentile of each worker.',
        lines: [
          [`max by (instance, worker) (weir_event_loop_delay_seconds${with_('stat="p99"')})`, '{{instance}} {{worker}}']
        ]
      }
    ]
  ]
]

const WIDTH = 24
const HEIGHT = 8
const DATASOURCE = { type: 'prometheus', uid: '$datasource' }

function panels(): object[] {
  let id = 0
  let y = 0
  return ROWS.flatMap(([title, graphs]) => {
    const row = { id: ++id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: WIDTH, h: 1 }, panels: [] }
    const w = WIDTH / graphs.length
    const all = graphs.map((graph, i) => panel(graph, ++id, { x: i * w, y: y + 1, w, h: HEIGHT }))
    y += 1 + HEIGHT
    return [row, ...all]
  })
}

function panel({ title, unit, about, lines }: Graph, id: number, gridPos: object): object {
  return {
    ...{ id, type: 'timeseries', title, description: about, gridPos, datasource: DATASOURCE },
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: lines.map(([expr, legendFormat], i) => ({
      ...{ refId: String.fromCharCode(65 + i), datasource: DATASOURCE, expr, legendFormat }
    }))
  }
}

const variable = (name: string, more: object) => ({ name, label: name, ...more })

export function dashboardText(): string {
  const dashboard = {
    ...{ title: 'Weir', uid: 'weir', schemaVersion: 39, editable: true, refresh: '30s', timezone: 'browser' },
    tags: ['weir', 'gateway', 'llm', 'mcp'],
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        variable('datasource', { type: 'datasource', query: 'prometheus' }),
        variable('instance', {
          ...{ type: 'query', datasource: DATASOURCE, query: 'label_values(weir_build_info, instance)' },
          ...{ includeAll: true, multi: true, allValue: '.*', current: { text: 'All', value: '$__all' }, refresh: 2 }
        })
      ]
    },
    panels: panels()
  }
  return `${JSON.stringify(dashboard, null, 2)}\n`
}

if (process.argv[1] === import.meta.filename) writeFileSync(join(ROOT, DASHBOARD), dashboardText())
