/** An explanation for people: text of a terminal. */
import type { Explanation, Outcome, Placed, PolicyStep, Upstream } from './explanation.ts'
import { callLines, keyLines } from './shown-call.ts'

const VERDICTS: Readonly<Record<PolicyStep['verdict'], string>> = {
  passes: 'passes',
  answers: 'ends it',
  asks: 'would ask',
  setting: 'setting',
  response: 'acts on the answer',
  unreached: 'not reached'
}

export function show(explanation: Explanation): string {
  const { request, listener, otherListeners, route, otherRoutes, policies, key, upstream, outcome, notes } = explanation
  const version = request.httpVersion === '2' ? ' over HTTP/2' : ''
  const lines = [`${request.method} ${request.url}${version} from ${request.from}`, '']
  lines.push(
    listener === null
      ? 'listener  none'
      : `listener  ${listener.name}, hostname ${listener.hostname}, port ${listener.port}${at(listener)}`
  )
  for (const { name, why, ...placed } of otherListeners) lines.push(`     not  ${name}${at(placed)}: ${why}`)
  lines.push(route === null ? 'route     none' : `route     ${route.name}, ${route.match}${at(route)}`)
  for (const { name, why, ...placed } of otherRoutes) lines.push(`     not  ${name}${at(placed)}: ${why}`)
  if (policies.length > 0) lines.push('policies')
  for (const [i, step] of policies.entries()) lines.push(...stepLines(step, i + 1))
  if (key !== null) lines.push(...keyLines(key))
  if (upstream !== null) lines.push(...upstreamLines(upstream))
  lines.push(...outcomeLines(outcome))
  for (const note of notes) lines.push(`note      ${note}`)
  return `${lines.map(printable).join('\n')}\n`
}

/** Control characters of what was sent, and those that turn the direction of text, must not reach a terminal. */
function printable(line: string): string {
  const escaped = (char: string): string => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`
  return line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped)
}

function at({ path, source }: Placed): string {
  return ` (${source ?? path})`
}

function stepLines({ policy, phase, places, verdict, detail, ...more }: PolicyStep, number: number): string[] {
  const { expressions, changes, asks, limits } = more
  const where = places.map(at).join('')
  const pre = phase === 'PreRouting' ? ', ahead of routing' : ''
  const lines = [`  ${String(number).padStart(2)}  ${policy}: ${VERDICTS[verdict]}${pre}${where}`]
  if (detail !== null) lines.push(`      because ${detail}`)
  const unsaid = expressions.filter((expression) => detail?.includes(expression) !== true)
  for (const expression of unsaid) lines.push(`      reads ${expression}`)
  for (const limit of limits) lines.push(`      limit ${limit}`)
  for (const ask of asks) lines.push(`      asks ${ask} (not asked)`)
  for (const change of changes) lines.push(`      ${change}`)
  return lines
}

function upstreamLines(upstream: Upstream): string[] {
  const { backend, kind, endpoint, hosts, isTls, method, host, target, headers, bodyBytes, shares, llm, mcp } = upstream
  const lines = [`backend   ${backend}, ${kind}${at(upstream)}`]
  if (shares.length > 1) {
    lines.push(`  shares  ${shares.map((one) => `${one.backend} ${one.percent} %`).join(', ')}`)
  }
  if (llm !== null)
    lines.push(`  model   ${[llm.provider, llm.model, llm.operation].filter((one) => one !== null).join(', ')}`)
  if (llm?.call != null) lines.push(...callLines(llm.call))
  if (mcp !== null)
    lines.push(`  mcp     ${[mcp.method, mcp.item, mcp.target].filter((one) => one !== null).join(', ')}`)
  for (const ask of upstream.asks) lines.push(`  asks    ${ask} (not asked)`)
  for (const mirror of upstream.mirrors) lines.push(`  copy    to ${mirror}`)
  if (endpoint === null) return lines
  lines.push(`sends     to ${endpoint}${isTls ? ' over TLS' : ''}`, `  ${method} ${target}`, `  Host: ${host}`)
  if (hosts !== null) lines.splice(-2, 0, `  at      ${shownHosts(hosts)}`)
  for (const [name, value] of headers) lines.push(`  ${name}: ${value}`)
  if (bodyBytes > 0) lines.push(`  ${bodyBytes} bytes of body`)
  return lines
}

/** A Service may have thousands. */
const HOSTS_SHOWN = 5

function shownHosts(hosts: readonly string[]): string {
  const more = hosts.length - HOSTS_SHOWN
  return `${hosts.slice(0, HOSTS_SHOWN).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

function outcomeLines(outcome: Outcome): string[] {
  if (outcome.kind === 'upstream') return ['outcome   it reaches the backend (nothing was sent)']
  if (outcome.kind !== 'answer') return [`outcome   ${outcome.detail}`]
  const { status, code, mcpErrorCode, detail, policy, headers, body } = outcome
  const error = mcpErrorCode === null ? '' : `, an error of JSON-RPC (${mcpErrorCode})`
  const lines = [
    `answer    ${status}${code === null ? '' : ` ${code}`}${policy === null ? '' : ` by ${policy}`}${error}`
  ]
  // Of a policy it stands there.
  if (detail !== null && policy === null) lines.push(`  because ${detail}`)
  for (const [name, value] of headers) lines.push(`  ${name}: ${value}`)
  if (body !== '')
    lines.push(
      ...body
        .trimEnd()
        .split('\n')
        .map((line) => `  | ${line}`)
    )
  return lines
}
