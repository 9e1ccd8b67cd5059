/** The command line of `weir controller`. */

/** What was typed; what is absent has a default where it is used. */
export interface ControllerSettings {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** The only one that is watched. */
  readonly namespace: string | undefined
  readonly controllerName: string | undefined
  readonly electsLeader: boolean
  readonly listen: { readonly host: string; readonly port: number }
  readonly controllerAddress: string | undefined
  readonly image: string | undefined
  readonly clusterDomain: string | undefined
  /** The Gateway that this process is the data plane of: "namespace/name". */
  readonly serve: `${string}/${string}` | null
  /** Of the Gateway that is served. */
  readonly addresses: readonly string[]
}

/** Of a process that is a data plane too. */
export type ServingSettings = ControllerSettings & { readonly serve: NonNullable<ControllerSettings['serve']> }

export const CONTROLLER_OPTIONS = {
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string' },
  'controller-name': { type: 'string' },
  'leader-elect': { type: 'string' },
  listen: { type: 'string' },
  'controller-address': { type: 'string' },
  image: { type: 'string' },
  'cluster-domain': { type: 'string' },
  serve: { type: 'string' },
  address: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' }
} as const

export const CONTROLLER_HELP = `weir controller: carry out Gateways, routes and weir.dev resources of a Kubernetes cluster

Usage:
  weir controller [OPTIONS]

Options:
      --kubeconfig FILE     how to reach the API server; default: as a pod, else KUBECONFIG
      --context NAME        of the kubeconfig; default: its current one
      --namespace NAME      watch this namespace alone; default: all
      --controller-name NAME  of the GatewayClasses to carry out; default: weir.dev/gateway-controller
      --leader-elect BOOL   false: there is no other controller; default: true
      --listen ADDRESS      where data planes ask for their configuration; default: [::]:9443
      --controller-address HOST:PORT  how data planes reach it; default: weir-controller.NAMESPACE.svc:9443
      --image IMAGE         of data planes, unless GatewayParameters name another; default: weir:VERSION
      --cluster-domain NAME of Services; default: cluster.local
      --serve NAMESPACE/NAME  be the data plane of this Gateway too; nothing is provisioned
      --address ADDRESS     of that Gateway, for its status; any number of times
  -h, --help                print this

Environment:
  POD_NAME, POD_NAMESPACE   of this pod: its name and its namespace
  CA_ADDRESS, TRUST_DOMAIN  with --serve, and what weir proxy has beside them: the mesh that it is part of
  STATS_ADDR, READINESS_ADDR, LOG_LEVEL, LOG_FORMAT  as for a gateway

Signals:
  SIGTERM, SIGINT           give the leadership back and exit; data planes go on with what they have

Exit codes:
  0  ended as asked     1  could not start
  2  wrong usage
`

const LISTEN = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]*)):(\d{1,5})$/i
const PORT = 9443

/** A text says what is wrong. */
export function readControllerSettings(values: Readonly<Record<string, unknown>>): ControllerSettings | string {
  const option = (name: keyof typeof CONTROLLER_OPTIONS) => values[name] as string | undefined
  const empty = Object.keys(values).find((name) => values[name] === '')
  if (empty !== undefined) return `--${empty} must not be empty`
  const elects = option('leader-elect') ?? 'true'
  if (elects !== 'true' && elects !== 'false') return '--leader-elect is true or false'
  const [, v6, name = '', port = `${PORT}`] = LISTEN.exec(option('listen') ?? `[::]:${PORT}`) ?? []
  if (!LISTEN.test(option('listen') ?? '[::]:0') || Number(port) > 65_535) return '--listen is written HOST:PORT'
  const serve = option('serve')
  if (serve !== undefined && !/^[^/]+\/[^/]+$/.test(serve)) return '--serve is written NAMESPACE/NAME'
  const addresses = (values.address ?? []) as string[]
  if (serve === undefined && addresses.length > 0) return '--address is of the Gateway that --serve names'
  return {
    kubeconfig: option('kubeconfig'),
    context: option('context'),
    namespace: option('namespace'),
    controllerName: option('controller-name'),
    electsLeader: elects === 'true',
    listen: { host: v6 ?? name, port: Number(port) },
    controllerAddress: option('controller-address'),
    image: option('image'),
    clusterDomain: option('cluster-domain'),
    serve: (serve ?? null) as ControllerSettings['serve'],
    addresses
  }
}
