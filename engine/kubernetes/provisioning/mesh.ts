/** What a data plane gets to be a workload of a mesh: as agents of Istio have it, so that its pages hold. */
import { DEFAULT_AUTHORITY, DEFAULT_TRUST_DOMAIN } from '#engine/kubernetes/mesh/authority-address.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import type { ProvisionInput } from './input.ts'
import type { Parameters, Variable } from './parameters.ts'

const TOKEN_FOLDER = '/var/run/secrets/tokens'
const TOKEN_FILE = 'istio-token'
/** As agents of Istio ask for; the kubelet replaces it when four fifths have gone. */
const TOKEN_SECONDS = 43_200
/** Authorities of Istio take tokens for it alone. */
const TOKEN_AUDIENCE = 'istio-ca'
const ROOTS_FOLDER = '/var/run/secrets/istio'
const ROOTS_FILE = 'root-cert.pem'
/** Istio writes it into each namespace. */
const ROOTS_CONFIG_MAP = 'istio-ca-root-cert'

export interface MeshParts {
  readonly labels: Readonly<Record<string, string>>
  readonly env: readonly Variable[]
  readonly volumes: readonly Raw[]
  readonly volumeMounts: readonly Raw[]
}

const NONE: MeshParts = { labels: {}, env: [], volumes: [], volumeMounts: [] }

export function meshParts({ istio }: Parameters): MeshParts {
  if (istio === undefined) return NONE
  const { caAddress = DEFAULT_AUTHORITY, trustDomain = DEFAULT_TRUST_DOMAIN } = istio
  const token = { path: TOKEN_FILE, audience: TOKEN_AUDIENCE, expirationSeconds: TOKEN_SECONDS }
  return {
    // It speaks for itself: a sidecar, or a node's proxy, would wrap mutual TLS in mutual TLS.
    labels: { 'sidecar.istio.io/inject': 'false', 'istio.io/dataplane-mode': 'none' },
    env: [
      { name: 'CA_ADDRESS', value: caAddress },
      { name: 'CA_ROOT_CA', value: `${ROOTS_FOLDER}/${ROOTS_FILE}` },
      { name: 'CA_AUTH_TOKEN', value: `${TOKEN_FOLDER}/${TOKEN_FILE}` },
      { name: 'TRUST_DOMAIN', value: trustDomain }
    ],
    volumes: [
      { name: 'istio-token', projected: { sources: [{ serviceAccountToken: token }] } },
      // Where there is no Istio the pod starts all the same, and its log says what is missing.
      { name: 'istiod-ca-cert', configMap: { name: ROOTS_CONFIG_MAP, optional: true } }
    ],
    volumeMounts: [
      { name: 'istio-token', mountPath: TOKEN_FOLDER, readOnly: true },
      { name: 'istiod-ca-cert', mountPath: ROOTS_FOLDER, readOnly: true }
    ]
  }
}

/** Whether data planes of this Gateway are to be workloads of a mesh, as far as its parameters can be read. */
export function isOfMesh({ classParameters, gatewayParameters }: ProvisionInput): boolean {
  const hasIstio = (object: KubernetesObject | undefined) => objectOf(object?.spec).istio !== undefined
  return hasIstio(classParameters) || hasIstio(gatewayParameters)
}
