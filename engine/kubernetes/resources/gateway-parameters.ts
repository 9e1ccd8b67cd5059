/**
 * GatewayParameters (weir.dev/v1alpha1): how data planes are provisioned. Files have nothing of it. It has no defaults:
 * those of a Gateway's would hide what the class says.
 */

import { isDeep, RESOURCE_DEPTH_MAX } from '#engine/kit/depth.ts'
import {
  AUTHORITY_HINT,
  AUTHORITY_PATTERN,
  DEFAULT_AUTHORITY,
  DEFAULT_TRUST_DOMAIN,
  TRUST_DOMAIN_HINT,
  TRUST_DOMAIN_PATTERN
} from '#engine/kubernetes/mesh/authority-address.ts'
import { cel, enforcedAs, ONLY_GATEWAY, uniqueBy } from '#engine/schema/rule.ts'
import { list, longString, map, shortString, whole, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'

/** A year (docs/specification.md#shutdown). */
const SECONDS_MAX = 31_536_000
const ENV_MAX = 256
const VALUE_CHARS_MAX = 32_768
const QUANTITIES_MAX = 32
const CLAIMS_MAX = 16
const METADATA_MAX = 64
/** Kubernetes: qualified names, values of labels, all annotations together. */
const KEY_CHARS_MAX = 317
const LABEL_CHARS_MAX = 63
const ANNOTATION_CHARS_MAX = 262_144

const key = () => z.string().check(z.minLength(1), z.maxLength(KEY_CHARS_MAX))
const texts = (max: number) => map(key(), z.string().check(z.maxLength(max)), 0, METADATA_MAX)

/** Whose fields are for API servers to judge. */
const otherObject = () => z.looseObject({})

/** Patches are bounded where they are merged. */
const boundedObject = () =>
  otherObject().refine((value) => !isDeep(value, RESOURCE_DEPTH_MAX), {
    error: `is nested more than ${RESOURCE_DEPTH_MAX} levels deep`,
    params: ONLY_GATEWAY
  })

const logging = () =>
  z.strictObject({
    level: longString().optional().describe('Directives by module, with commas between them. Default info.'),
    format: z.enum(['json', 'text']).optional().describe('Default text.')
  })

const image = () =>
  z.strictObject({
    registry: shortString().optional(),
    repository: shortString().optional(),
    tag: shortString().optional(),
    digest: shortString().optional().describe('Such as sha256:...; it wins over tag.'),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional().describe("Default: the orchestrator's.")
  })

const variable = () =>
  z
    .strictObject({
      name: z.string().check(z.minLength(1), z.maxLength(256), z.regex(/^[^=\0]+$/, 'must not have "="')),
      value: z
        .string()
        .check(z.maxLength(VALUE_CHARS_MAX))
        .optional()
        .describe('$(NAME) is another one; $$(NAME) is literal.'),
      valueFrom: boundedObject().optional().describe('EnvVarSource of core/v1.')
    })
    .refine(({ value, valueFrom }) => value === undefined || valueFrom === undefined, {
      when: sound(),
      error: 'must have at most one of value, valueFrom',
      params: cel('!(has(self.value) && has(self.valueFrom))')
    })

const variables = () =>
  list(variable(), 0, ENV_MAX).superRefine(
    (all, context) => {
      const seen = new Set<string>()
      all.forEach(({ name }, i) => {
        const message = `there is already a variable ${name}`
        if (seen.has(name)) context.addIssue({ code: 'custom', path: [i, 'name'], message })
        seen.add(name)
      })
    },
    enforcedAs(uniqueBy('name'))
  )

const quantities = () => map(key(), z.union([whole(0, Number.MAX_SAFE_INTEGER), shortString()]), 0, QUANTITIES_MAX)

const resources = () =>
  z.strictObject({
    limits: quantities().optional(),
    requests: quantities().optional(),
    claims: list(z.strictObject({ name: shortString(), request: shortString().optional() }), 0, CLAIMS_MAX).optional()
  })

const seconds = () => whole(0, SECONDS_MAX)

const shutdown = () =>
  z
    .strictObject({
      min: seconds().describe('Seconds that connections are kept at least (CONNECTION_MIN_TERMINATION_DEADLINE).'),
      max: seconds().describe('Seconds until the process ends at the latest (TERMINATION_GRACE_PERIOD_SECONDS).')
    })
    .refine(({ min, max }) => min <= max, {
      when: sound('min', 'max'),
      path: ['min'],
      error: 'must not be more than max',
      params: cel('self.min <= self.max')
    })

const istio = () =>
  z.strictObject({
    caAddress: shortString()
      .regex(AUTHORITY_PATTERN, AUTHORITY_HINT)
      .optional()
      .describe(`Authority that signs the certificate. Default ${DEFAULT_AUTHORITY}.`),
    trustDomain: shortString()
      .regex(TRUST_DOMAIN_PATTERN, TRUST_DOMAIN_HINT)
      .optional()
      .describe(`Default ${DEFAULT_TRUST_DOMAIN}.`)
  })

const overlay = (of: string) =>
  z
    .strictObject({
      metadata: z
        .strictObject({
          labels: texts(LABEL_CHARS_MAX).optional(),
          annotations: texts(ANNOTATION_CHARS_MAX).optional()
        })
        .optional()
        .describe('Labels and annotations that are added.'),
      spec: otherObject().optional().describe('Part of a spec, merged as a strategic merge patch.')
    })
    .optional()
    .describe(of)

export const gatewayParametersSpec = () =>
  z.strictObject({
    logging: logging().optional(),
    rawConfig: boundedObject().optional().describe('A configuration file; the other fields win over it.'),
    image: image().optional(),
    env: variables().optional().describe('Variables; they replace those that are there.'),
    resources: resources().optional().describe('ResourceRequirements of core/v1.'),
    shutdown: shutdown().optional(),
    istio: istio().optional().describe('Mutual TLS with the workloads of an Istio mesh.'),
    deployment: overlay('Of the generated Deployment.'),
    service: overlay('Of the generated Service.'),
    serviceAccount: overlay('Of the generated ServiceAccount, which has no spec: that of the overlay has its fields.'),
    podDisruptionBudget: overlay('With it there is a PodDisruptionBudget.'),
    horizontalPodAutoscaler: overlay('With it there is a HorizontalPodAutoscaler.')
  })

export const parametersStatus = () => z.strictObject({})
