/** The status page at /ui/: one file, no script, no asset from anywhere. */
import { createHash } from 'node:crypto'
import type { EndpointReport } from '#engine/contract/endpoint.ts'
import { type Listener, ownName, type RouteMatch, type RouteSpec, type Snapshot } from '#engine/ir/snapshot.ts'
import { redactText } from '#engine/kit/sensitive.ts'
import { Html, html } from './html.ts'
import type { AdminState } from './state.ts'
import { type Unexpand, unexpander } from './unexpand.ts'

/** More routes than a page is good for; the dump has them all. */
const ROUTES_MAX = 500

const STYLE = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: left; vertical-align: top }
code, pre { font-family: ui-monospace, monospace; font-size: .9em }
pre { white-space: pre-wrap; border-left: 3px solid #c33; padding-left: 1rem }
.bad { color: #c33 }
`

/** The one style sheet, allowed by its hash: an injected one would not have it. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export function page(state: AdminState, endpoints: readonly EndpointReport[]): string {
  const { snapshot } = state
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Weir</title><style>${new Html(STYLE)}</style></head>
<body>
<h1>Weir ${state.version}</h1>
<table>
${row('started', state.startedAt)}
${row('ready', state.pending.length === 0 ? 'yes' : `no, pending: ${state.pending.join(', ')}`)}
${row('configuration', snapshot === null ? 'none yet' : `${snapshot.hash}, number ${snapshot.version}`)}
${row('accepted', snapshot?.acceptedAt ?? '')}
${row('log level', state.logLevel)}
</table>
${lastError(state)}
<h2>Workers</h2>
<table>
<tr><th>id</th><th>state</th><th>started</th></tr>
${state.workers.map((w) => html`<tr><td>${w.id}</td><td>${w.state}</td><td>${w.startedAt}</td></tr>\n`)}</table>
<h2>Listeners and routes</h2>
${snapshot === null ? html`<p>There is no configuration yet.</p>` : listeners(snapshot, unexpander(state.expanded))}
<h2>Addresses of backends</h2>
${addresses(endpoints)}
<p><a href="/endpoints">addresses</a> ·
<a href="/config_dump">configuration</a> · <a href="/healthz">health</a> · metrics: stats port, /metrics</p>
</body>
</html>
`.text
}

function addresses(endpoints: readonly EndpointReport[]): Html {
  if (endpoints.length === 0) return html`<p>None is known yet.</p>`
  const rows = endpoints.flatMap(({ destination, addresses: all }) =>
    all.map(({ address, weight, state, reason, forMs, requests }) => {
      const until = forMs === 0 ? '' : `, for ${Math.ceil(forMs / 1000)} s`
      const why = state === 'healthy' ? html`healthy` : html`<span class="bad">${state}</span>: ${reason}${until}`
      return html`<tr><td>${destination}</td><td>${address}</td><td>${weight}</td><td>${why}</td><td>${requests}</td></tr>\n`
    })
  )
  return html`<table>
<tr><th>destination</th><th>address</th><th>weight</th><th>state</th><th>requests</th></tr>
${rows.slice(0, ROUTES_MAX)}</table>`
}

function row(name: string, value: string): Html {
  return html`<tr><th>${name}</th><td>${value}</td></tr>`
}

function lastError(state: AdminState): Html {
  if (state.lastError === null) return html``
  const { at, message } = state.lastError
  return html`<h2 class="bad">The last configuration was refused</h2>
<p>At ${at}. The one before it is still running.</p>
<pre>${redactText(message)}</pre>`
}

function listeners(snapshot: Snapshot, unexpand: Unexpand | null): Html {
  const rows: Html[] = []
  let routes = 0
  for (const { port, listeners } of snapshot.binds) {
    for (const listener of listeners) {
      if (listener.routes.length === 0)
        rows.push(html`<tr>${place(port, listener)}<td colspan="4">no routes</td></tr>\n`)
      for (const route of listener.routes) {
        if (routes++ < ROUTES_MAX) rows.push(html`<tr>${place(port, listener)}${facts(route, unexpand)}</tr>\n`)
      }
    }
  }
  const rest =
    routes > ROUTES_MAX ? html`<p>${routes - ROUTES_MAX} more routes are in the configuration dump.</p>` : html``
  return html`<table>
<tr><th>port</th><th>listener</th><th>host</th><th>route</th><th>matches</th><th>backends</th><th>policies</th></tr>
${rows}</table>${rest}`
}

function place(port: number, listener: Listener): Html {
  return html`<td>${port}</td><td>${listener.name}</td><td>${listener.hostname}</td>`
}

function facts(route: RouteSpec, unexpand: Unexpand | null): Html {
  const matches = route.matches.map((match) => html`<code>${matchText(match, unexpand)}</code><br>`)
  const backends = route.backends.map((b) => html`${b.backend} (${b.weight})<br>`)
  const hosts = route.hostnames.length === 0 ? html`` : html`<br>${route.hostnames.join(', ')}`
  const policies = Object.keys(route.policies).join(', ')
  return html`<td>${ownName(route)}${hosts}</td><td>${matches}</td><td>${backends}</td><td>${policies}</td>`
}

/** Header and query matches show their names only: their values may be keys. */
function matchText(match: RouteMatch, unexpand: Unexpand | null): string {
  const [kind, path] = Object.entries<string>(match.path)[0] ?? ['', '']
  const headers = match.headers.map(({ name }) => ` header ${name}`).join('')
  const query = match.query.map(({ name }) => ` query ${name}`).join('')
  return `${match.method ?? 'any method'} ${kind} ${unexpand?.(path) ?? path}${headers}${query}`
}
