/**
 * `npm run conformance -- import FOLDER ...`: files of a clone of agentgateway (its examples), or of LiteLLM's proxy,
 * through weir import. Prints a table, how many are carried whole, in part and not, and without FOLDER what it needs.
 * Exit code 1: one of them does not load, or fewer are carried than scripts/import/run.ts says.
 *
 * `npm run conformance -- cel`: the published CEL conformance data (@bufbuild/cel-spec) against engine/cel.
 * Prints a line per section, the misses with `--misses`, and `cel: N passed, M failed`.
 *
 * `npm run conformance -- mcp [REVISION]`: the published MCP suite against a fixture, directly and through the gateway,
 * then its scenarios of authorization with a client, before the suite's own server and before a gateway with that.
 * Prints `mcp REVISION: direct N passed, M failed; through N passed, M failed`, the scenarios that differ, and with
 * `--misses` why; `--server` and `--auth` run one of the two. Exit code 1: the gateway fails what passes without it.
 *
 * `npm run conformance -- collector`: traces, metrics and log records sent to a real OpenTelemetry Collector
 * (scripts/collector), which is built with Go. Exit code 1: something is missing in what it has written.
 *
 * `npm run conformance -- openapi`: documents of real APIs (scripts/mcp/openapi). Exit code 1: an operation is no tool,
 * or a call of one is no request of the document.
 *
 * `npm run conformance -- mcp-login`: logins at a real Keycloak (scripts/mcp/login). Exit code 1: one of them fails.
 *
 * `npm run conformance -- mcp-clients`: the official MCP clients through three workers (mcp/clients.ts). Prints a line
 * for each, and what failed. Exit code 1: something did.
 *
 * `npm run conformance -- h2`: h2spec, which is built with Go, against HTTP/2 on clear text. Prints its summary, with
 * `--misses` what failed. Exit code 1: not all of it passes.
 *
 * `npm run conformance -- llm-clients [CLIENT]`: real clients of models, installed into a cache outside of the
 * repository, in loops of tools before providers that are as strict as the real ones. Prints a table of clients and
 * providers, `llm-clients: N passed, M failed`, and with `--misses` why. `--unsupported=MODE` sets that instead of the
 * default; CLIENT is part of a client's name. Exit code 1: something failed.
 *
 * `npm run conformance -- litellm`: LiteLLM's own proxy, installed as above, beside the gateway (scripts/litellm).
 * Prints what each answered to the same calls. Exit code 1: something differs that is not meant to.
 *
 * `npm run conformance -- recordings FOLDER [NAME]`: recorded exchanges of a clone of vercel/ai (its fixtures) or of
 * pydantic-ai, langchain or openllmetry (cassettes of vcr), whose sources have NAME in them, to clients of all formats.
 * Prints a table of providers and clients, and with `--misses` what differs. `--sdks`: to vendors' own clients of npm
 * and PyPI, installed as above. `--write`: what came through is counted in scripts/recordings/recorded.json, which
 * `npm run matrix -- --write` shows. Exit code 1: something differs; nothing is written then.
 *
 * `npm run conformance -- kubernetes`: the CRDs at a real API server, which is built with Go (scripts/kubernetes).
 * Prints how many objects it takes and refuses as it should, with `--misses` the others. Exit code 1: there are such.
 *
 * `npm run conformance -- helm`: the chart of scripts/package, by helm and at a real API server, both built with Go.
 * Exit code 1: helm or the API server refuses something, or takes what is wrong, or the plain manifests are old.
 *
 * `npm run conformance -- gateway-api [TEST]`: the official suite of the Gateway API, which is built with Go, against
 * the controller and its data planes in a cluster of its own (scripts/kubernetes/cluster). Needs Linux and root. TEST
 * is the name of one test; `--report=FILE` writes the report of a whole run. Exit code 1: a test has failed.
 *
 * `npm run conformance -- inference-pool [TEST]`: the official suite of the Gateway API Inference Extension, with its
 * endpoint picker, as the suite above. Exit code 1: a test has failed.
 *
 * `npm run conformance -- kubernetes-outages`: the API server and etcd are killed for minutes, under two controllers
 * and a data plane. Exit code 1: a request failed, a controller hammered, two led, or a change was not served.
 *
 * `npm run conformance -- istio`: istiod, which is built with Go (40 minutes on two busy processors, 190 MB), in a
 * cluster as above, and a Gateway with `istio`. Exit code 1: its data plane has no certificate of istiod, or is not
 * known by it.
 *
 * `npm run conformance -- kubernetes-scale`: thousands of routes, Services and endpoints in such a cluster: how long a
 * change takes, memory, and requests that fail. Exit code 1: a bound of scripts/kubernetes/scale.ts is broken.
 *
 * `npm run conformance -- kubernetes-soak`: 300,000 changes (`--changes=N`) for a controller and a data plane, at the
 * double of an API server. Prints what their threads have after a collection: changes, MiB of heap + outside of it
 * (handles) of the controller, of the data plane's main thread and its worker, open files of both. Exit code 1: the
 * median of the last third of the measures is more than 2 % above that of the second one.
 *
 * `npm run conformance -- kubectl`: kubectl at a cluster with the controller and its data planes. Writes
 * docs/kubernetes-transcript.md. Exit code 1: an answer is not the one that it has to be.
 *
 * `npm run conformance -- guards`: the builtins of prompt guards over public corpora, beside Presidio's recognisers;
 * Python packages in fixed versions are installed as above. Prints the tables of docs/guards.md. Exit code 1: the
 * precision of a detector over all corpora is below 0.95.
 *
 * `npm run conformance -- services [CASES]`: policies that ask services of others beside Envoy, before the same servers
 * (scripts/services); CASES is a part of names of cases, `--tables` prints the
 * tables of docs/services-conformance.md. Exit code 1: something differs that is not listed.
 *
 * `npm run conformance -- ratelimit`: two gateways before one envoyproxy/ratelimit with Redis, asked by curl. Prints a
 * transcript. Exit code 1: an answer is not the one that it has to be. `-- ext-auth`: likewise before the authorization
 * server of Istio's samples.
 *
 * `npm run conformance -- keys [CASE]`: keys, limits and budgets over replicas of the program, with a real Redis or
 * Valkey and a real PostgreSQL, which are killed among them (scripts/keys). CASE is part of the name of a server or a
 * case. Prints a line for each case. Exit code 1: the books are not those of the provider, or something passes twice.
 *
 * `npm run conformance -- ui [PAGE]`: the browser application in Chromium before a gateway (scripts/ui), from what
 * `npm run build` has made. `--shots=FOLDER` writes pictures of every page. Exit code 1: a page has an error, is not
 * accessible, asks elsewhere, has a secret, or does not do what people do there.
 *
 * `npm run conformance -- jwks`: keys of a realm that gateways fetch from a real Keycloak while they are rotated. Exit
 * code 1: a token counts that should not, one does not that should, or keys are fetched too often.
 */
import { printCel, runCel } from '#engine/cel/testing/conformance.ts'
import { runH2Spec } from './h2spec.ts'
import { printClients, runClients } from './llm-clients/conformance.ts'
import { printMcpClients, runMcpClients } from './mcp/clients.ts'
import { type Comparison, isWorse, printMcp, REVISIONS, runMcp } from './mcp/conformance.ts'
import { runAuth } from './mcp/conformance-auth.ts'

const [suite, ...rest] = process.argv.slice(2)
const withMisses = rest.includes('--misses')
const revisions = rest.filter((word) => !word.startsWith('--'))

if (suite === 'cel') {
  const report = runCel()
  for (const line of printCel(report, withMisses)) console.log(line)
  if (report.failed > report.known) process.exitCode = 1
} else if (suite === 'mcp' && revisions.every((revision) => REVISIONS.includes(revision))) {
  const chosen = revisions.length === 0 ? REVISIONS : revisions
  const show = (comparison: Comparison): void => {
    for (const line of printMcp(comparison, withMisses)) console.log(line)
    if (isWorse(comparison)) process.exitCode = 1
  }
  if (!rest.includes('--auth')) for (const comparison of await runMcp(chosen)) show(comparison)
  if (!rest.includes('--server')) for (const revision of chosen) show(await runAuth(revision))
} else if (suite === 'openapi') {
  const { runOpenApi } = await import('./mcp/openapi/run.ts')
  if (!(await runOpenApi(console.log))) process.exitCode = 1
} else if (suite === 'collector') {
  const { runCollector } = await import('./collector/run.ts')
  if (!(await runCollector(console.log))) process.exitCode = 1
} else if (suite === 'mcp-login') {
  const { runLogin } = await import('./mcp/login/run.ts')
  if (!(await runLogin(console.log))) process.exitCode = 1
} else if (suite === 'mcp-clients') {
  const runs = await runMcpClients()
  for (const line of printMcpClients(runs)) console.log(line)
  process.exit(runs.every(({ tried }) => tried.every(({ why }) => why === null)) ? 0 : 1)
} else if (suite === 'h2') {
  const report = await runH2Spec()
  console.log(`h2: ${report.summary}`)
  if (withMisses) console.log(report.failures)
  process.exit(report.isWhole ? 0 : 1)
} else if (suite === 'llm-clients') {
  const mode = rest.find((word) => word.startsWith('--unsupported='))?.split('=')[1]
  const cases = await runClients(revisions.join(' '), mode === undefined ? {} : { unsupported: mode })
  for (const line of printClients(cases, withMisses)) console.log(line)
  process.exit(cases.some(({ why }) => why !== null) ? 1 : 0)
} else if (suite === 'keys') {
  const { runKeys } = await import('./keys/run.ts')
  process.exit((await runKeys(console.log, revisions.join(' '))) ? 0 : 1)
} else if (suite === 'recordings' && rest.includes('--sdks') && revisions.length >= 1) {
  const { installClients } = await import('./llm-clients/install.ts')
  const { runSdks } = await import('./recordings/run-sdks.ts')
  const [folder = '', only = ''] = revisions
  process.exit((await runSdks(console.log, await installClients(), folder, { only, withMisses })) ? 0 : 1)
} else if (suite === 'recordings' && revisions.length >= 1) {
  const { runRecordings } = await import('./recordings/run.ts')
  const [folder = '', only = ''] = revisions
  const { runEndpoints } = await import('./recordings/run-endpoints.ts')
  const chats = await runRecordings(console.log, folder, { only, withMisses })
  const others = await runEndpoints(console.log, folder)
  const isSame = chats.isSame && others.isSame
  if (isSame && rest.includes('--write')) {
    const { repositoryOf, writeRecorded } = await import('./recordings/recorded.ts')
    chats.tally.addAll(others.tally)
    writeRecorded(repositoryOf(folder), chats.tally)
  }
  process.exit(isSame ? 0 : 1)
} else if (suite === 'services') {
  const { runServices } = await import('./services/run.ts')
  process.exit(
    (await runServices(console.log, { only: revisions.join(' '), hasTables: rest.includes('--tables') })) ? 0 : 1
  )
} else if (suite === 'ratelimit') {
  const { runRateLimit } = await import('./services/ratelimit.ts')
  process.exit((await runRateLimit(console.log)) ? 0 : 1)
} else if (suite === 'ext-auth') {
  const { runExtAuth } = await import('./services/ext-auth.ts')
  process.exit((await runExtAuth(console.log)) ? 0 : 1)
} else if (suite === 'ui') {
  const { runUi } = await import('./ui/run.ts')
  const shots = rest.find((word) => word.startsWith('--shots='))?.split('=')[1] ?? null
  process.exit((await runUi(console.log, revisions.join(' '), shots)) ? 0 : 1)
} else if (suite === 'jwks') {
  const { runJwks } = await import('./services/jwks.ts')
  process.exit((await runJwks(console.log)) ? 0 : 1)
} else if (suite === 'kubernetes') {
  const { runKubernetes } = await import('./kubernetes/run.ts')
  if (!(await runKubernetes(console.log, withMisses))) process.exitCode = 1
} else if (suite === 'helm') {
  const { runHelm } = await import('./chart-conformance.ts')
  if (!(await runHelm(console.log))) process.exitCode = 1
} else if (suite === 'gateway-api') {
  const { runGatewayApi } = await import('./kubernetes/gateway-api.ts')
  const report = rest.find((word) => word.startsWith('--report='))?.split('=')[1] ?? null
  process.exit((await runGatewayApi(console.log, { only: revisions.join(''), report })) ? 0 : 1)
} else if (suite === 'inference-pool') {
  const { runInferencePool } = await import('./kubernetes/inference-pool.ts')
  const report = rest.find((word) => word.startsWith('--report='))?.split('=')[1] ?? null
  process.exit((await runInferencePool(console.log, { only: revisions.join(''), report })) ? 0 : 1)
} else if (suite === 'kubernetes-outages') {
  const { runOutages } = await import('./kubernetes/outages.ts')
  process.exit((await runOutages(console.log)) ? 0 : 1)
} else if (suite === 'istio') {
  const { runIstio } = await import('./kubernetes/istio.ts')
  process.exit((await runIstio(console.log)) ? 0 : 1)
} else if (suite === 'kubernetes-scale') {
  const { runScale } = await import('./kubernetes/scale.ts')
  process.exit((await runScale(console.log)) ? 0 : 1)
} else if (suite === 'kubernetes-soak') {
  const { runSoak } = await import('./kubernetes/soak.ts')
  const changes = Number(rest.find((word) => word.startsWith('--changes='))?.split('=')[1] ?? 300_000)
  process.exit((await runSoak(console.log, changes)) ? 0 : 1)
} else if (suite === 'kubectl') {
  const { runTranscript } = await import('./kubernetes/transcript.ts')
  process.exit((await runTranscript(console.log)) ? 0 : 1)
} else if (suite === 'import') {
  const { runImports } = await import('./import/run.ts')
  process.exit(runImports(console.log, revisions) ? 0 : 1)
} else if (suite === 'litellm') {
  const { runLitellm } = await import('./litellm/run.ts')
  const { postgresFolder, startPostgres } = await import('./keys/servers.ts')
  const programs = postgresFolder()
  if (programs === null) throw new Error('PostgreSQL is not installed: LiteLLM keeps virtual keys there')
  process.exit((await runLitellm(console.log, { programs, start: startPostgres })) ? 0 : 1)
} else if (suite === 'guards') {
  const { runGuards } = await import('./guards/run.ts')
  if (!(await runGuards(console.log))) process.exitCode = 1
} else {
  console.error(
    `conformance: the suites are: cel, collector, ext-auth, gateway-api, guards, h2, helm, import, inference-pool, istio, jwks, kubectl, kubernetes, kubernetes-outages, kubernetes-scale, kubernetes-soak, litellm, llm-clients, mcp (${REVISIONS.join(' or ')}, or both), mcp-clients, mcp-login, openapi, ratelimit, services, ui`
  )
  process.exitCode = 2
}
