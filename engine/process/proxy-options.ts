/** The command line and the environment of `weir proxy`. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { GatewayName } from '#engine/kubernetes/stream/index.ts'
import { MESH_VARIABLES, type MeshSettings, readMeshSettings, variableOf } from './mesh-options.ts'

/** Of the text that a key is made from. */
const KEY_CHARS_MIN = 32

/** Options that have a variable of the same name, in capitals. */
export const PROXY_VARIABLES = [
  'controller-address',
  'controller-ca',
  'controller-token',
  'gateway',
  'namespace',
  'pod-name',
  'zone',
  'state-dir',
  ...MESH_VARIABLES
] as const

type Variable = (typeof PROXY_VARIABLES)[number]

export const PROXY_HELP = `weir proxy: be a data plane of a Gateway, with what a controller says

Usage:
  weir proxy [OPTIONS]

Options, each with its variable:
      --controller-address HOST:PORT  CONTROLLER_ADDRESS: of the controller
      --controller-ca FILE      CONTROLLER_CA: authority of its certificate, in PEM
      --controller-token FILE   CONTROLLER_TOKEN: token of this ServiceAccount, read again when it is replaced
      --gateway NAME            GATEWAY: the Gateway
      --namespace NAME          NAMESPACE: its namespace
      --pod-name NAME           POD_NAME: of this pod; default: the name of the host
      --zone NAME               ZONE: of this pod; endpoints with hints for it are preferred
      --state-dir DIRECTORY     STATE_DIR: keeps what is in force, for a start without the controller; needs STATE_KEY
      --ca-address HOST:PORT    CA_ADDRESS: authority of a mesh; with it workloads are spoken to over mutual TLS
      --ca-root-ca FILE         CA_ROOT_CA: roots of the mesh, in PEM; default: where agents of Istio have them
      --ca-auth-token FILE      CA_AUTH_TOKEN: token of this ServiceAccount for that authority; default as above
      --cluster-id NAME         CLUSTER_ID: of this cluster, for an authority of several; default: that of the authority
      --trust-domain NAME       TRUST_DOMAIN: of the mesh; default: cluster.local
      --service-account NAME    SERVICE_ACCOUNT: of this pod, its name in the mesh
  -f, --file FILE               configuration file that has nothing but config, read at the start
  -c, --config STRING           the same as text
  -h, --help                    print this

Environment:
  LOCAL_ADDRESSES           loopback and link-local addresses that backends may have, such as 127.0.0.0/8; default: none
  STATE_KEY                 ${KEY_CHARS_MIN} characters or more: what STATE_DIR has is sealed with it

Signals:
  SIGTERM, SIGINT           drain and exit; another one exits at once
`

/** What was typed. */
export type ProxyFlags = { readonly [name in Variable]?: string }

export interface ProxySettings {
  /** "host:port". */
  readonly address: string
  readonly ca: () => string
  readonly token: () => string
  readonly gateway: GatewayName
  readonly pod: string
  /** '': unknown. */
  readonly zone: string
  /** Null: nothing is kept. */
  readonly state: { readonly folder: string; readonly key: string } | null
  /** Null: there is no mesh. */
  readonly mesh: MeshSettings | null
  /** Something that people should know about these settings. */
  readonly warnings: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** The settings, or what is wrong with them. Flags win over variables. */
export function readProxySettings(flags: ProxyFlags, env: Environment): ProxySettings | string {
  const read = (name: Variable) => flags[name] || env[variableOf(name)] || ''
  const missing = (['controller-address', 'controller-ca', 'controller-token', 'gateway', 'namespace'] as const).filter(
    (name) => read(name) === ''
  )
  if (missing.length > 0) return `proxy needs ${missing.map((name) => `--${name} (${variableOf(name)})`).join(', ')}`
  const address = read('controller-address')
  if (!/^(?:\[[0-9A-Fa-f:.]+\]|[^:/\s]+):\d{1,5}$/.test(address)) {
    return `--controller-address is host:port, not '${address}'`
  }
  const mesh = readMeshSettings(read, read('namespace'))
  if (typeof mesh === 'string') return mesh
  const folder = read('state-dir')
  const { STATE_KEY: key = '' } = env
  if (key !== '' && key.length < KEY_CHARS_MIN) return `STATE_KEY needs ${KEY_CHARS_MIN} characters or more`
  const warnings = folder !== '' && key === '' ? [NO_KEY] : []
  return {
    address,
    ca: () => readFileSync(read('controller-ca'), 'utf8'),
    token: () => readFileSync(read('controller-token'), 'utf8'),
    gateway: `${read('namespace')}/${read('gateway')}`,
    pod: read('pod-name') || hostname(),
    zone: read('zone'),
    mesh,
    state: folder === '' || key === '' ? null : { folder, key },
    warnings
  }
}

const NO_KEY =
  'nothing is kept for a start without the controller: STATE_DIR needs STATE_KEY, since keys and certificates are sealed'
