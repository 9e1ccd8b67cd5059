/**
 * Trailers on their way (RFC 9110 section 6.5): they pass to those who asked for them, or speak gRPC, and never with
 * what a policy has taken out of the head.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { isGrpc, isGrpcType } from '#engine/http/grpc.ts'
import type { HeaderBlock, Stripped } from '#engine/http/headers.ts'
import { keptTrailers } from '#engine/http/trailers.ts'

/** Those of the request that go to a backend: without what policies have taken or set, and names with "_". */
export function requestTrailers(ex: Exchange, lines: string): string {
  if (lines === '') return ''
  if (!ex.wantsTrailers && !isGrpc(ex.method, ex.request)) return ''
  const left = withoutStripped(ex.request, lines)
  return ex.keepsUnderscores ? left : keptTrailers(left, (_, line) => !line.slice(0, line.indexOf(':')).includes('_'))
}

/** Those of the answer that go to the client. */
export function responseTrailers(ex: Exchange, lines: string): string {
  const { response } = ex
  if (lines === '' || response === null) return ''
  const type = response.get('content-type')
  const isCall = isGrpc(ex.method, ex.request) || (type !== undefined && isGrpcType(type))
  return ex.wantsTrailers || isCall ? withoutStripped(response, lines) : ''
}

function withoutStripped({ stripped }: HeaderBlock, lines: string): string {
  if (stripped === null) return lines
  const names = new Set<string>()
  for (let some: Stripped | null = stripped; some !== null; some = some.next) {
    for (const name of some.names) names.add(name.replaceAll('_', '-'))
  }
  return keptTrailers(lines, (name) => !names.has(name))
}
