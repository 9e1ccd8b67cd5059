/** What weir reads of the kinds of Kubernetes itself, and what every object has: checked without an API server. */
import { LABEL, LABEL_CHARS_MAX, OBJECT_NAME, OBJECT_NAME_CHARS_MAX } from '#engine/kubernetes/resources/names.ts'
import { port } from '#engine/schema/net.ts'
import { once, z } from '#engine/schema/schema.ts'

const texts = () => z.record(z.string(), z.string())

/** ObjectMeta. Beside what manifests say it has what an API server writes, for objects that were read from one. */
export const metadataSchema = once(() =>
  z.strictObject({
    name: z
      .string()
      .check(
        z.maxLength(OBJECT_NAME_CHARS_MAX),
        z.regex(OBJECT_NAME, 'must be the name of an object: a-z, 0-9, - and .')
      ),
    namespace: z
      .string()
      .check(z.maxLength(LABEL_CHARS_MAX), z.regex(LABEL, 'must be the name of a namespace: a-z, 0-9 and -'))
      .optional(),
    labels: texts().optional(),
    annotations: texts().optional(),
    ...Object.fromEntries(WRITTEN_BY_SERVERS.map((name) => [name, z.unknown().optional()]))
  })
)

const WRITTEN_BY_SERVERS = [
  ...['creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp', 'finalizers', 'generateName'],
  ...['generation', 'managedFields', 'ownerReferences', 'resourceVersion', 'selfLink', 'uid']
]

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const base64 = () =>
  z
    .string()
    .refine((text) => BASE64.test(text.replaceAll(/\s/g, '')), 'must be base64: plain text belongs below stringData')

/** 8080, or the name of a port of the container. */
const portOrName = () => z.union([port(), z.string()])

const servicePort = () =>
  z.looseObject({
    name: z.string().optional(),
    port: port(),
    protocol: z.string().optional(),
    targetPort: portOrName().optional(),
    appProtocol: z.string().optional()
  })

const endpoint = () =>
  z.looseObject({
    addresses: z.array(z.string()).check(z.minLength(1)),
    conditions: z
      .looseObject({
        ready: z.boolean().optional(),
        serving: z.boolean().optional(),
        terminating: z.boolean().optional()
      })
      .optional()
  })

const POOL_PORTS_MAX = 8

/** inference.networking.k8s.io/v1. */
const inferencePoolSpec = () =>
  z.looseObject({
    selector: z.looseObject({ matchLabels: texts() }),
    targetPorts: z.array(z.looseObject({ number: port() })).check(z.minLength(1), z.maxLength(POOL_PORTS_MAX)),
    appProtocol: z.enum(['http', 'kubernetes.io/h2c']).optional(),
    endpointPickerRef: z
      .looseObject({
        group: z.string().optional(),
        kind: z.string().optional(),
        name: z.string(),
        port: z.looseObject({ number: port() }).optional(),
        failureMode: z.enum(['FailOpen', 'FailClose']).optional()
      })
      .optional()
  })

/** Fields of an object beside `apiVersion`, `kind`, `metadata` and `status`. */
type Fields = Readonly<Record<string, z.ZodType>>

/** By kind. Fields that are not read may be anything. */
export const CORE_FIELDS: Readonly<Record<string, () => Fields>> = {
  Namespace: () => ({ spec: z.looseObject({}).optional() }),
  Secret: () => ({
    type: z.string().optional(),
    immutable: z.boolean().optional(),
    data: z.record(z.string(), base64()).optional(),
    stringData: texts().optional()
  }),
  ConfigMap: () => ({
    immutable: z.boolean().optional(),
    data: texts().optional(),
    binaryData: z.record(z.string(), base64()).optional()
  }),
  Service: () => ({
    spec: z.looseObject({
      type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']).optional(),
      externalName: z.string().optional(),
      ports: z.array(servicePort()).optional()
    })
  }),
  InferencePool: () => ({ spec: inferencePoolSpec() }),
  EndpointSlice: () => ({
    addressType: z.enum(['IPv4', 'IPv6', 'FQDN']),
    endpoints: z.array(endpoint()).optional(),
    ports: z
      .array(z.looseObject({ name: z.string().optional(), port: port(), protocol: z.string().optional() }))
      .optional()
  })
}
