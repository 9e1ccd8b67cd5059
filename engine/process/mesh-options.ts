/** What a data plane has to know to be a workload of a mesh; by variables, as GatewayParameters fill them in. */
import { readFileSync } from 'node:fs'
import {
  AUTHORITY_HINT,
  type AuthorityAddress,
  DEFAULT_TRUST_DOMAIN,
  parseAuthority,
  TRUST_DOMAIN_HINT,
  TRUST_DOMAIN_PATTERN
} from '#engine/kubernetes/mesh/authority-address.ts'

/** Options that have a variable of the same name, in capitals. */
export const MESH_VARIABLES = [
  'ca-address',
  'ca-root-ca',
  'ca-auth-token',
  'cluster-id',
  'trust-domain',
  'service-account'
] as const

/** Of an option. */
export const variableOf = (option: string): string => option.toUpperCase().replaceAll('-', '_')

export type MeshVariable = (typeof MESH_VARIABLES)[number]

export interface MeshSettings {
  readonly authority: AuthorityAddress
  /** Of the cluster whose API server judges the token, as the authority calls it; empty: its own. */
  readonly clusterId: string
  readonly trustDomain: string
  /** "ns/demo/sa/edge". */
  readonly identity: string
  /** PEM. Throws an Error that says what is missing. */
  readonly roots: () => string
  /** As `roots`. */
  readonly token: () => string
}

/** Names of clusters are free in Istio; those of clouds are paths with colons and slashes. */
const CLUSTER_ID = /^[A-Za-z0-9._:/-]{0,253}$/

/** Where agents of Istio look for them. */
const ROOTS_FILE = '/var/run/secrets/istio/root-cert.pem'
const TOKEN_FILE = '/var/run/secrets/tokens/istio-token'

/** Null: there is no mesh. A text says what is wrong. `namespace`: of this pod. */
export function readMeshSettings(
  read: (name: MeshVariable) => string,
  namespace: string
): MeshSettings | null | string {
  const address = read('ca-address')
  if (address === '') return null
  const authority = parseAuthority(address)
  if (authority === null) return `--ca-address ${AUTHORITY_HINT}, not '${address}'`
  const trustDomain = read('trust-domain') || DEFAULT_TRUST_DOMAIN
  if (!TRUST_DOMAIN_PATTERN.test(trustDomain)) return `--trust-domain ${TRUST_DOMAIN_HINT}, not '${trustDomain}'`
  const clusterId = read('cluster-id')
  if (!CLUSTER_ID.test(clusterId))
    return `--cluster-id must have 253 letters, digits, ".", "-", "_", ":" and "/" at most`
  const account = read('service-account')
  if (account === '' || namespace === '')
    return '--ca-address needs --service-account (SERVICE_ACCOUNT) and a namespace'
  const [roots, token] = [read('ca-root-ca') || ROOTS_FILE, read('ca-auth-token') || TOKEN_FILE]
  return {
    authority,
    clusterId,
    trustDomain,
    identity: `ns/${namespace}/sa/${account}`,
    roots: () => rootsOf(roots),
    token: () => textOf(token, 'it is a token of the ServiceAccount for the audience istio-ca').trim()
  }
}

function rootsOf(path: string): string {
  const text = textOf(path, 'it comes from the ConfigMap istio-ca-root-cert, which istiod writes into each namespace')
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${path} has no certificate`)
  return text
}

function textOf(path: string, origin: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}): ${origin}`)
  }
}
