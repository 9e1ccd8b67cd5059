/** What is neither in nor out of a spec: statuses, columns of tables, who may do what. */

import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { objectOf } from '#engine/kubernetes/testing/case.ts'
import type { ApiClient } from './client.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const CONDITION = {
  status: 'True',
  reason: 'Valid',
  message: '',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z'
}
const conditions = (count: number) => Array.from({ length: count }, (_, i) => ({ ...CONDITION, type: `Type${i}` }))
const ANCESTOR = { ancestorRef: { name: 'edge' }, controllerName: CONTROLLER_NAME, conditions: conditions(1) }

const BACKEND = objectOf(
  { kind: 'GatewayBackend', name: '', spec: { static: { host: 'a', port: 1 } }, filled: [] },
  'with-status'
)
const TARGET = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
const POLICY = objectOf({ kind: 'GatewayPolicy', name: '', spec: { targetRefs: [TARGET] }, filled: [] }, 'with-status')

/** Object, its plural, the status, and what the API server says against it; null: nothing. */
const STATUSES = [
  ['8 conditions of a backend', BACKEND, 'gatewaybackends', { conditions: conditions(8) }, null],
  ['9 conditions of a backend', BACKEND, 'gatewaybackends', { conditions: conditions(9) }, 'must have at most 8 items'],
  [
    'a condition twice',
    BACKEND,
    'gatewaybackends',
    { conditions: [...conditions(1), ...conditions(1)] },
    'Duplicate value'
  ],
  ['ancestors of a policy', POLICY, 'gatewaypolicies', { ancestors: [ANCESTOR] }, null],
  [
    'a policy without ancestors',
    POLICY,
    'gatewaypolicies',
    { ancestors: null, conditions: [] },
    'status.ancestors: Required'
  ],
  [
    'an ancestor without a controller',
    POLICY,
    'gatewaypolicies',
    { ancestors: [{ ancestorRef: { name: 'edge' } }] },
    'controllerName: Required'
  ],
  [
    'a controller that is no DOMAIN/PATH',
    POLICY,
    'gatewaypolicies',
    { ancestors: [{ ...ANCESTOR, controllerName: 'weir' }] },
    'controllerName'
  ],
  [
    'an ancestor of nothing',
    POLICY,
    'gatewaypolicies',
    { ancestors: [{ controllerName: CONTROLLER_NAME }] },
    'ancestorRef: Required'
  ],
  [
    '17 ancestors',
    POLICY,
    'gatewaypolicies',
    { ancestors: Array.from({ length: 17 }, () => ANCESTOR) },
    'must have at most 16 items'
  ]
] as const

export async function statusCases(servers: KubernetesServers): Promise<Judged[]> {
  const client = servers.clientOf('admin')
  await client.create(BACKEND, 'gatewaybackends')
  await client.create(POLICY, 'gatewaypolicies')
  const judged: Judged[] = []
  for (const [name, object, plural, status, says] of STATUSES) {
    const answer = await client.patchStatus(object, plural, status)
    const { message = '' } = answer.body
    const isRight = says === null ? answer.status === 200 : answer.status === 422 && message.includes(says)
    judged.push({ name: `status: ${name}`, why: isRight ? null : `${answer.status} ${message}` })
  }
  return [...judged, ...(await columnCases(client)), ...(await accessCases(servers))]
}

/** Short names and columns, as kubectl asks for them. */
async function columnCases(client: ApiClient): Promise<Judged[]> {
  const found = await client.ask('GET', '/apis/weir.dev/v1alpha1')
  const { resources = [] } = found.body as unknown as {
    readonly resources?: readonly { readonly name: string; readonly shortNames?: readonly string[] }[]
  }
  const short = resources.flatMap(({ shortNames = [] }) => shortNames).toSorted()
  const isShort = short.join(' ') === 'gwbe gwparams gwpol'
  return [{ name: 'short names', why: isShort ? null : short.join(' ') }]
}

async function accessCases(servers: KubernetesServers): Promise<Judged[]> {
  const path = '/apis/weir.dev/v1alpha1/gatewaybackends'
  const attempts = [
    ['without rights', servers.clientOf('nobody'), 403],
    ['with a token of nobody', servers.clientWith('unknown'), 401]
  ] as const
  const judged: Judged[] = []
  for (const [name, client, expected] of attempts) {
    const { status } = await client.ask('GET', path)
    judged.push({ name: `access ${name}`, why: status === expected ? null : `is ${status}, not ${expected}` })
  }
  return judged
}
