/**
 * The variables of a gateway and their known fields: names and types, no readers. Each place that runs expressions
 * offers those that exist there, with its own readers (`pick`).
 */
import type { TypeName } from './functions.ts'
import type { Roots, Variable } from './roots.ts'

function map(fields: Readonly<Record<string, TypeName | Variable>>): Variable {
  const entries = Object.entries(fields).map(([name, field]): [string, Variable] => [
    name,
    typeof field === 'string' ? { type: field } : field
  ])
  return { type: 'map', fields: Object.fromEntries(entries) }
}

/** Claims, metadata: any field may be there. */
const OPEN: Variable = { type: 'map' }
const IDENTITY = map({ trustDomain: 'string', namespace: 'string', serviceAccount: 'string' })
const WORKLOAD = map({ name: 'string', namespace: 'string', serviceAccount: 'string' })
const NAMED = map({ name: 'string', namespace: 'string' })
const ITEM = map({ target: 'string', name: 'string', arguments: 'dyn' })

export const VARIABLES: Roots = {
  request: map({
    id: 'string',
    method: 'string',
    uri: 'string',
    host: 'string',
    hostname: 'string',
    scheme: 'string',
    path: 'string',
    rawPath: 'string',
    pathAndQuery: 'string',
    version: 'string',
    headers: 'map',
    body: 'dyn',
    bodyPrefix: 'dyn',
    startTime: 'timestamp',
    endTime: 'timestamp'
  }),
  response: map({ code: 'int', grpcStatus: 'int', headers: 'map', body: 'dyn', bodyPrefix: 'dyn' }),
  source: map({
    address: 'string',
    port: 'int',
    rawAddress: 'string',
    rawPort: 'int',
    identity: IDENTITY,
    spiffeId: 'string',
    subjectAltNames: 'list',
    issuer: 'string',
    subject: 'string',
    subjectCn: 'string',
    certificate: 'string',
    unverifiedWorkload: WORKLOAD,
    connectHeaders: 'map'
  }),
  destination: map({ address: 'string', port: 'int', hostname: 'string' }),
  jwt: OPEN,
  apiKey: OPEN,
  basicAuth: map({ username: 'string' }),
  extauthz: OPEN,
  extproc: OPEN,
  mcpGuardrails: OPEN,
  metadata: OPEN,
  proxy: map({
    bind: 'string',
    gateway: NAMED,
    listener: map({ name: 'string' }),
    route: map({ name: 'string', namespace: 'string', kind: 'string', rule: 'string' }),
    requestProcessingDuration: 'duration',
    upstreamDuration: 'duration',
    responseProcessingDuration: 'duration'
  }),
  backend: map({ name: 'string', type: 'string', protocol: 'string' }),
  mcp: map({
    tool: map({ target: 'string', name: 'string', arguments: 'dyn', result: 'dyn', error: 'dyn' }),
    prompt: ITEM,
    resource: ITEM,
    task: ITEM,
    method: ITEM,
    methodName: 'string',
    sessionId: 'string',
    protocolVersion: 'string',
    target: 'string',
    errorType: 'string'
  }),
  llm: map({
    streaming: 'bool',
    requestModel: 'string',
    responseModel: 'string',
    provider: 'string',
    inputTokens: 'int',
    outputTokens: 'int',
    totalTokens: 'int',
    cachedInputTokens: 'int',
    cacheCreationInputTokens: 'int',
    reasoningTokens: 'int',
    inputAudioTokens: 'int',
    inputImageTokens: 'int',
    outputAudioTokens: 'int',
    outputImageTokens: 'int',
    countTokens: 'int',
    serviceTier: 'string',
    timeToFirstToken: 'duration',
    timePerOutputToken: 'duration',
    prompt: 'list',
    completion: 'list',
    toolCalls: 'list',
    params: 'map',
    cost: 'map',
    costRates: 'map',
    routing: map({
      strategy: 'string',
      target: 'string',
      candidates: 'int',
      excluded: 'list',
      figure: 'double',
      reason: 'string',
      fallback: 'string',
      shadow: 'string',
      continues: 'string'
    })
  }),
  llmRequest: OPEN,
  trace: map({ id: 'string' }),
  span: map({ id: 'string' }),
  env: map({ podName: 'string', namespace: 'string', gateway: 'string' })
}

/** Some of the variables, as `pick(['request', 'jwt'], readers)`: a reader gives the whole variable from a context. */
export function pick<C extends object>(
  names: readonly string[],
  readers: Readonly<Record<string, (context: C) => unknown>>
): Roots<C> {
  const entries = names.map((name) => {
    const variable = VARIABLES[name]
    if (variable === undefined) throw new Error(`no variable is called ${name}`)
    const read = readers[name]
    return [name, read === undefined ? variable : { ...variable, read }]
  })
  return Object.fromEntries(entries) as Roots<C>
}
