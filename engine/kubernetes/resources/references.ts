/** How resources refer to others: core/v1, the Gateway API (v1) and meta/v1. */
import { port } from '#engine/schema/net.ts'
import { cel } from '#engine/schema/rule.ts'
import { list, map, z } from '#engine/schema/schema.ts'
import { sound, together } from '#engine/schema/together.ts'
import {
  GATEWAY_GROUP,
  GROUP,
  INFERENCE_GROUP,
  LABEL,
  LABEL_CHARS_MAX,
  OBJECT_NAME,
  OBJECT_NAME_CHARS_MAX
} from './names.ts'

const LABELS_MAX = 64
const EXPRESSIONS_MAX = 64
const VALUES_MAX = 64
/** Of a label: a name of 63 characters behind a domain. */
const LABEL_KEY_CHARS_MAX = 317

export const objectName = () =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(OBJECT_NAME_CHARS_MAX), z.regex(OBJECT_NAME, 'must be the name of an object'))

const namespaceName = () =>
  z.string().check(z.minLength(1), z.maxLength(LABEL_CHARS_MAX), z.regex(LABEL, 'must be the name of a namespace'))

export const sectionName = () =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(OBJECT_NAME_CHARS_MAX), z.regex(OBJECT_NAME, 'must be the name of a section'))

/** `kinds`: by group. */
type Kinds = Readonly<Record<string, readonly string[]>>

const kindsText = (kinds: Kinds) =>
  Object.entries(kinds)
    .map(([group, names]) => `${names.join(', ')} of ${group === '' ? 'the core group ("")' : group}`)
    .join('; ')

const pairs = (kinds: Kinds) =>
  Object.entries(kinds).flatMap(([group, names]) => names.map((kind) => `${group}/${kind}`))

interface Kinded {
  readonly group: string
  readonly kind: string
}

/** A check of objects with `group` and `kind`. */
export const isOneOf = (kinds: Kinds) => {
  const known = pairs(kinds)
  const message = `must be ${kindsText(kinds)}`
  return together<Kinded>(
    ['group', 'kind'],
    ({ value, issues }) => {
      if (known.includes(`${value.group}/${value.kind}`)) return
      issues.push({ code: 'custom', path: ['kind'], message, input: value })
    },
    cel(`(self.group + '/' + self.kind) in [${known.map((one) => `'${one}'`).join(', ')}]`, { message, field: 'kind' })
  )
}

const SERVERS: Kinds = { '': ['Service'], [GROUP]: ['GatewayBackend'] }

export const group = () => z.string().check(z.maxLength(OBJECT_NAME_CHARS_MAX))
export const kind = () => z.string().check(z.minLength(1), z.maxLength(LABEL_CHARS_MAX))

/** BackendObjectReference of the Gateway API, for the kinds that this gateway sends to. */
export const backendObjectReference = () =>
  z
    .strictObject({
      group: group().default('').describe('Of the kind; empty for Service.'),
      kind: kind().default('Service').describe('Service or GatewayBackend.'),
      name: objectName().describe('Of the Service or the GatewayBackend.'),
      namespace: namespaceName()
        .optional()
        .describe('Default: that of the resource. Another one needs a ReferenceGrant.'),
      port: port().optional().describe('Of the Service.')
    })
    .check(isOneOf(SERVERS))
    .refine(({ kind: of, port: at }) => of !== 'Service' || at !== undefined, {
      when: sound('kind'),
      path: ['port'],
      error: 'is required for a Service',
      params: cel("self.kind != 'Service' || has(self.port)")
    })
    .describe('A Service or a GatewayBackend.')

/** LocalObjectReference of core/v1. */
export const localObjectReference = () =>
  z.strictObject({ name: objectName().describe('Of an object in the same namespace.') })

const labelKey = () => z.string().check(z.minLength(1), z.maxLength(LABEL_KEY_CHARS_MAX))
const labelValue = () => z.string().check(z.maxLength(LABEL_CHARS_MAX))

export const matchLabels = () => map(labelKey(), labelValue(), 0, LABELS_MAX)

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const

/** LabelSelector of meta/v1. */
export const labelSelector = () =>
  z.strictObject({
    matchLabels: matchLabels().optional().describe('All of these labels.'),
    matchExpressions: list(
      z
        .strictObject({
          key: labelKey(),
          operator: z.enum(OPERATORS),
          values: list(labelValue(), 0, VALUES_MAX).optional()
        })
        .refine(({ operator, values = [] }) => operator.endsWith('In') === values.length > 0, {
          when: sound('operator', 'values'),
          path: ['values'],
          error: 'is required for In and NotIn, and must be empty for Exists and DoesNotExist',
          params: cel("(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)")
        }),
      0,
      EXPRESSIONS_MAX
    )
      .optional()
      .describe('All of these requirements.')
  })

const ROUTES = ['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute'] as const
const GATEWAYS = ['Gateway', 'ListenerSet'] as const

/** What a policy may be attached to. */
export const TARGETS: Kinds = {
  [GATEWAY_GROUP]: [...GATEWAYS, ...ROUTES],
  '': ['Service'],
  [INFERENCE_GROUP]: ['InferencePool'],
  [GROUP]: ['GatewayBackend']
}
