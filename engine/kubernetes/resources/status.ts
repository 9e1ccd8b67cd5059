/** Statuses, which the controller writes: conditions of meta/v1, ancestors as the Gateway API has them (GEP-713). */

import { port } from '#engine/schema/net.ts'
import { list, z } from '#engine/schema/schema.ts'
import { GATEWAY_GROUP } from './names.ts'

/** docs/specification.md: statuses have at most 8 conditions. */
const CONDITIONS_MAX = 8
/** Gateway API, PolicyStatus. */
const ANCESTORS_MAX = 16

const text = (max: number, min = 0) => z.string().check(z.minLength(min), z.maxLength(max))

/** Condition of meta/v1, with its bounds. */
const condition = () =>
  z
    .strictObject({
      type: text(316, 1).regex(
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/
      ),
      status: z.enum(['True', 'False', 'Unknown']),
      observedGeneration: z.int().min(0).optional().describe('Generation of the resource that it is about.'),
      lastTransitionTime: z.string().meta({ format: 'date-time' }),
      reason: text(1024, 1).regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/),
      message: text(32_768)
    })
    .describe('What the controller found.')

export const conditions = () =>
  list(condition(), 0, CONDITIONS_MAX)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })

/** ParentReference of the Gateway API, as statuses have it. */
const ancestorRef = () =>
  z.strictObject({
    group: text(253).default(GATEWAY_GROUP),
    kind: text(63, 1).default('Gateway'),
    namespace: text(63, 1).optional(),
    name: text(253, 1),
    sectionName: text(253, 1).optional(),
    port: port().optional()
  })

/** DOMAIN/PATH (Gateway API, GatewayController). */
const CONTROLLER = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/

const ancestor = () =>
  z.strictObject({
    ancestorRef: ancestorRef().describe('What the policy acts on: as a rule a Gateway.'),
    controllerName: text(253, 1).regex(CONTROLLER, 'must be DOMAIN/PATH').describe('DOMAIN/PATH of who wrote this.'),
    conditions: conditions()
  })

export const backendStatus = () => z.strictObject({ conditions: conditions() })

export const policyStatus = () =>
  z.strictObject({
    conditions: conditions(),
    ancestors: list(ancestor(), 0, ANCESTORS_MAX).describe('By controllers, what the policy acts on.')
  })
