/** What is neither in nor out of a spec: statuses, columns of tables, who may do what. */

import { API_VERSION, CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { objectOf } from '#engine/kubernetes/testing/case.ts'
import type { ApiClient } from './client.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const GROUP_PATH = `/apis/${API_VERSION}`

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

const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const COLUMNS = {
  gatewaybackends: 'Name Accepted Age',
  gatewaypolicies: 'Name Accepted Age',
  gatewayparameters: 'Name Age'
}

/** Short names and columns, as kubectl asks for them. */
async function columnCases(client: ApiClient): Promise<Judged[]> {
  const { body: found } = await client.ask('GET', GROUP_PATH)
  const { resources = [] } = found as { readonly resources?: readonly { readonly shortNames?: readonly string[] }[] }
  const short = resources.flatMap(({ shortNames = [] }) => shortNames).toSorted()
  const isShort = short.join(' ') === 'gwbe gwparams gwpol'
  const judged: Judged[] = [{ name: 'short names', why: isShort ? null : short.join(' ') }]
  for (const [plural, expected] of Object.entries(COLUMNS)) {
    const { body } = await client.ask('GET', `${GROUP_PATH}/${plural}`, { accept: AS_TABLE })
    const { columnDefinitions = [] } = body as { readonly columnDefinitions?: readonly { readonly name: string }[] }
    const shown = columnDefinitions.map(({ name }) => name).join(' ')
    judged.push({ name: `columns of ${plural}`, why: shown === expected ? null : shown })
  }
  return judged
}

async function accessCases(servers: KubernetesServers): Promise<Judged[]> {
  const attempts = [
    ['without rights', servers.clientOf('nobody'), 403],
    ['with a token of nobody', servers.clientWith('unknown'), 401]
  ] as const
  const judged: Judged[] = []
  for (const [name, client, expected] of attempts) {
    const { status } = await client.ask('GET', `${GROUP_PATH}/gatewaybackends`)
    judged.push({ name: `access ${name}`, why: status === expected ? null : `is ${status}, not ${expected}` })
  }
  return judged
}
