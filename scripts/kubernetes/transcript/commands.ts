/** What is typed again and again. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ASK } from './requests.ts'
import { awaited, type Command, type Step, seen } from './steps.ts'

/** None of the manifest's objects is taken. */
const REFUSED = /^(?![\s\S]*\b(?:created|configured|unchanged)\n)/
export const applied = (name: string): Command => seen(`kubectl apply -f ${name}.yaml`, /created/)
export const refused = (name: string): Command => seen(`kubectl apply -f ${name}.yaml`, REFUSED)

/** The address of a Gateway, for a shell. */
export const addressOf = (gateway: string): string =>
  `$(kubectl -n chat get gateway ${gateway} -o jsonpath='{.status.addresses[0].value}')`
export const askOf = (gateway: string, port = 8080): string => `curl -s http://${addressOf(gateway)}:${port}`

export const code = (path: string, more: string, shows: RegExp, ask: string = ASK): Command =>
  awaited(`${ask}${path} -o /dev/null -w '%{http_code}'${more === '' ? '' : ` ${more}`}`, shows)
export const fields = (path: string, more: string, shows: RegExp, ask: string = ASK): Command =>
  awaited(`${ask}${path} -o /dev/null -D -${more === '' ? '' : ` ${more}`}`, shows)
/** The body, then the status. */
export const body = (path: string, more: string, shows: RegExp, ask: string = ASK): Command =>
  awaited(`${ask}${path} -w ' %{http_code}'${more === '' ? '' : ` ${more}`}`, shows)
/** Statuses of as many requests in a row. Not awaited: each of them counts. */
export const codes = (count: number, path: string, more: string, shows: RegExp, ask: string): Command =>
  seen(
    `for i in $(seq ${count}); do ${ask}${path} -o /dev/null -w '%{http_code} '${more === '' ? '' : ` ${more}`}; done`,
    shows
  )

export const accepted = (kind: string, names: readonly string[]): Command =>
  awaited(
    `kubectl -n chat get ${kind} ${names.join(' ')}`,
    new RegExp(names.map((name) => `^${name} +True`).join('.*'), 'ms')
  )
/** What the status says of a policy at its first ancestor. */
export const judged = (policy: string, shows: RegExp): Command =>
  awaited(
    `kubectl -n chat get gatewaypolicy ${policy} -o jsonpath='{.status.ancestors[0].conditions[0].reason}: {.status.ancestors[0].conditions[0].message}'`,
    shows
  )
/** The last line that a player has printed. */
export const logged = (deployment: string, shows: RegExp): Command =>
  awaited(`kubectl -n chat logs deployment/${deployment} --tail=1`, shows)

export const manifests = (...names: readonly string[]): Step['files'] =>
  Object.fromEntries(
    names.map((name) => [`${name}.yaml`, readFileSync(join(import.meta.dirname, 'rows', `${name}.yaml`), 'utf8')])
  )
