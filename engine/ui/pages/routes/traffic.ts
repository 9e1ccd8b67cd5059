/** What the routes of the graph have got in the last minutes. */
import type { Answer } from '#engine/ui/api/client.ts'
import { count, duration, percent } from '#engine/ui/format/numbers.ts'
import type { ListenerNode, RouteNode } from './graph.ts'

type Traffic = Answer<'getTraffic'>

export interface Hits {
  readonly requests: number
  /** "1,204 in 5 min, 12 since the start": what stands beside the name. */
  readonly text: string
  /** "3 % failed (5xx)", "40 % refused (4xx)": what there is of them. */
  readonly failed: string | null
  readonly refused: string | null
}

/** `traffic` null: not known yet. Null: nothing is known of it. */
export function hitsOf(traffic: Traffic | null, listener: ListenerNode, { name, route }: RouteNode): Hits | null {
  if (traffic === null) return null
  const found = traffic.routes.find(
    (one) => one.port === listener.port && one.listener === listener.name && one.route === route
  )
  // It may be one of those that are not listed.
  if (found === undefined && traffic.leftOut > 0) return null
  const { requests, refused, failed, total } = found ?? { requests: 0, refused: 0, failed: 0, total: 0 }
  const time = duration(traffic.seconds * 1000)
  const of = name === route ? '' : ' (all its rules)'
  const share = (many: number, what: string) =>
    many === 0 ? null : `${percent(many / requests)} ${what}, ${count(many)} of ${count(requests)}`
  return {
    requests,
    text: total === 0 ? `nothing since the start${of}` : `${count(requests)} in ${time}, ${count(total)} in all${of}`,
    failed: share(failed, 'failed'),
    refused: share(refused, 'refused')
  }
}

/** Requests of a listener that no route has taken. */
export function strayOf(traffic: Traffic | null, { port, name }: ListenerNode): number {
  const found = traffic?.routes.find((one) => one.port === port && one.listener === name && one.route === '')
  return found?.requests ?? 0
}
