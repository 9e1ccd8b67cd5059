/**
 * `npm run conformance -- mcp-login`: full logins at a real Keycloak by the official SDKs, TypeScript and Python, both
 * generations each: discovery through the gateway, registration, authorization code with PKCE, a tool call, a renewed
 * token, and a token for another audience refused.
 */
import { type ExecFileSyncOptions, execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type LogIn, logInFirst, logInSecond } from '#backends/mcp/testing/login.ts'
import { CALLBACK } from '#backends/mcp/testing/person.ts'
import { type Ending, startMcp } from '#backends/mcp/testing/servers.ts'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { KEYCLOAK_VERSION, startKeycloak } from '#engine/testing/keycloak.ts'
import { signIn } from './browser.ts'

/** PyPI `mcp`. */
const PYTHON_SDKS = ['1.30.0', '2.3.0']
const RUN_MS_MAX = 120_000
/** How each says that its token was of no use; the last is what Python SDK 2.3 has for every status. */
const REFUSED = /401|Unauthorized|Server returned an error response/i
const CLIENT = fileURLToPath(new URL('./client.py', import.meta.url))
const SIGN_IN = fileURLToPath(new URL('./sign-in.ts', import.meta.url))

interface Case {
  readonly name: string
  /** Rejects when it does not come to its end. */
  readonly run: (url: string) => Promise<void>
}

export async function runLogin(print: (line: string) => void): Promise<boolean> {
  const endings: (() => unknown)[] = []
  const ending: Ending = { after: (step) => void endings.push(step as () => unknown) }
  try {
    const keycloak = await startKeycloak(await freePort())
    endings.push(keycloak.stop)
    let failed = 0
    const cases = [...typescript(ending), ...PYTHON_SDKS.map(python)]
    const settings: readonly object[] = [{ provider: 'Keycloak' }, { provider: 'Keycloak', audiences: ['others'] }]
    for (const policy of settings) {
      const { url } = await gateway(ending, keycloak.issuer, policy)
      await keycloak.admit(url)
      const isRefused = 'audiences' in policy
      for (const { name, run } of cases) {
        const outcome = await run(url).then(
          () => null,
          (error: unknown) => String((error as Error).message)
        )
        const isRight = isRefused ? outcome !== null && REFUSED.test(outcome) : outcome === null
        if (!isRight) failed++
        const what = isRefused ? 'a token for somebody else is refused' : 'logs in, calls, renews'
        print(`${isRight ? 'ok    ' : 'FAILED'} ${name}: ${what}${isRight ? '' : `: ${outcome?.slice(-600)}`}`)
      }
    }
    const passed = cases.length * settings.length - failed
    print(`mcp-login: Keycloak ${KEYCLOAK_VERSION}: ${passed} passed, ${failed} failed`)
    return failed === 0
  } finally {
    for (const step of endings.reverse()) await step()
  }
}

/** Tokens are for its URL, unless `policy` says otherwise. */
async function gateway(ending: Ending, issuer: string, policy: object): Promise<{ url: string }> {
  const calc = await startMcp(ending, {
    setUp: (made) => made.registerTool('add', {}, () => ({ content: [{ type: 'text', text: 'added' }] }))
  })
  const targets = [{ name: 'calc', mcp: { host: `http://127.0.0.1:${calc.port}/mcp` } }]
  const mcpAuthentication = { issuer, audiences: ['AUDIENCE'], ...policy }
  const file = JSON.stringify({ mcp: { port: 0, targets, policies: { mcpAuthentication } } })
  const started = await startGateway(file)
  ending.after(() => started.close())
  const url = `http://127.0.0.1:${started.port}/mcp`
  await started.reload(file.replace('AUDIENCE', url))
  return { url }
}

function typescript(ending: Ending): Case[] {
  const of = (name: string, logIn: LogIn): Case => ({
    name: `TypeScript SDK ${name}`,
    async run(url) {
      const { called, renewed } = await logIn(ending, url, (to) => signIn(to, CALLBACK))
      if (JSON.stringify(called) !== '[{"type":"text","text":"added"}]') throw new Error(JSON.stringify(called))
      if (renewed !== 'AUTHORIZED') throw new Error(`not renewed: ${renewed}`)
    }
  })
  return [of('1', logInFirst), of('2', logInSecond)]
}

function python(version: string): Case {
  return {
    name: `Python SDK ${version}`,
    async run(url) {
      const args = [CLIENT, url, process.execPath, SIGN_IN, CALLBACK]
      await promisify(execFile)(pythonWith(version), args, { timeout: RUN_MS_MAX })
    }
  }
}

/** An environment of its own for each version. */
function pythonWith(version: string): string {
  const folder = join(cacheFolder('python'), `mcp-${version}`)
  const program = join(folder, 'bin', 'python')
  if (existsSync(program)) return program
  const quiet: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] }
  execFileSync('python3', ['-m', 'venv', folder], quiet)
  execFileSync(join(folder, 'bin', 'pip'), ['-q', 'install', `mcp==${version}`], quiet)
  return program
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
