/**
 * Callers who get their tokens by themselves: the official clients, of both generations, find the authorization server
 * through the gateway, register, log in, call a tool, and renew what they have. The second generation compares every
 * name of the issuer with every other (RFC 8414 section 3.3, RFC 9207 section 2.4).
 */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type IssuerOptions, issuerOf, type TestIssuer } from '#backends/mcp/testing/issuer.ts'
import { logInFirst, logInSecond } from '#backends/mcp/testing/login.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { startGateway } from '#engine/testing/gateway.ts'

interface LoginSetup {
  readonly idp: TestIssuer
  readonly url: string
  /** What the tool's server was shown. */
  readonly shown: () => (string | undefined)[]
}

async function setUpLogin(t: TestContext, issuer: IssuerOptions, policy: object): Promise<LoginSetup> {
  const idp = await issuerOf(t, issuer)
  const calc = await startMcp(t, {
    setUp: (made) => made.registerTool('add', {}, () => ({ content: [{ type: 'text', text: 'added' }] }))
  })
  const base = {
    issuer: idp.url,
    audiences: ['AUDIENCE'],
    // Where Keycloak has them, under any name of the issuer.
    jwks: { url: `${idp.url}/protocol/openid-connect/certs` }
  }
  const file = JSON.stringify({
    mcp: {
      port: 0,
      targets: [{ name: 'calc', mcp: { host: `http://127.0.0.1:${calc.port}/mcp` } }],
      policies: {
        mcpAuthentication: { ...base, ...policy },
        mcpAuthorization: { rules: ['jwt.sub == "ann" && mcp.tool.name == "add"'] }
      }
    }
  })
  const gateway = await startGateway(file)
  t.after(() => gateway.close())
  const url = `http://127.0.0.1:${gateway.port}/mcp`
  await gateway.reload(file.replace('AUDIENCE', url))
  return { idp, url, shown: () => calc.seen.map(({ headers }) => headers.authorization) }
}

/** The browser: ann logs in and consents. Returns where she is redirected to. */
async function browser(to: URL): Promise<URLSearchParams> {
  const answer = await fetch(to, { redirect: 'manual' })
  return new URL(answer.headers.get('location')!).searchParams
}

const CLIENTS = { 'SDK 1': logInFirst, 'SDK 2': logInSecond }
const POLICIES: Readonly<Record<string, object>> = {
  'no provider': {},
  Keycloak: { provider: 'Keycloak' },
  Auth0: { provider: 'Auth0' }
}

describe('official clients log in, register, call and renew', () => {
  for (const [name, logIn] of Object.entries(CLIENTS)) {
    for (const [provider, policy] of Object.entries(POLICIES)) {
      for (const namesItself of [true, false]) {
        it(`${name}, ${provider}, whose answers ${namesItself ? 'name it' : 'do not name it'}`, async (t) => {
          const { idp, url, shown } = await setUpLogin(t, { namesItself }, policy)
          const { sentTo, called, renewed } = await logIn(t, url, browser)
          equal(sentTo.searchParams.get('resource'), url)
          equal(sentTo.searchParams.get('client_id'), 'made')
          // Auth0 is told of the audience where nobody would notice, and by the resource only where somebody would.
          equal(sentTo.searchParams.get('audience'), provider === 'Auth0' && !namesItself ? url : null)
          deepEqual(called, [{ type: 'text', text: 'added' }])
          equal(renewed, 'AUTHORIZED')
          deepEqual([...new Set(shown())], [undefined])
          equal(idp.requests.filter((line) => line.startsWith('POST') && line.endsWith('/openid-connect')).length, 1)
        })
      }
    }
  }

  for (const [name, logIn] of Object.entries(CLIENTS)) {
    it(`${name}: a token for somebody else is refused, whatever the login said`, async (t) => {
      const { url } = await setUpLogin(t, { namesItself: true, audience: 'others' }, { provider: 'Keycloak' })
      await rejects(logIn(t, url, browser), /Server returned 401 after (?:successful |re-)authentication/)
    })
  }
})

describe('authorizationServer', () => {
  const server = async (url: string): Promise<string> => {
    const { origin, pathname } = new URL(url)
    const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)
    return ((await answer.json()) as { authorization_servers: [string] }).authorization_servers[0]
  }
  const cases: [policy: object, namesItself: boolean, isHere: boolean][] = [
    [{}, false, false],
    [{ authorizationServer: 'Gateway' }, true, true],
    [{ provider: 'Keycloak' }, false, true],
    [{ provider: 'Keycloak' }, true, false],
    [{ provider: 'Keycloak', authorizationServer: 'Gateway' }, true, true],
    [{ provider: 'Keycloak', authorizationServer: 'issuer' }, false, false],
    [{ clientId: 'known' }, false, true],
    [{ clientId: 'known' }, true, false]
  ]
  for (const [policy, namesItself, isHere] of cases) {
    it(`${JSON.stringify(policy)}, ${namesItself ? 'with' : 'without'} iss: the ${isHere ? 'gateway' : 'issuer'}`, async (t) => {
      const { idp, url } = await setUpLogin(t, { namesItself }, policy)
      equal(await server(url), isHere ? url : idp.url)
    })
  }

  it('says once in the log what clients do not get from an issuer that names itself', async (t) => {
    const idp = await issuerOf(t, { namesItself: true })
    const jwks = { url: `${idp.url}/protocol/openid-connect/certs` }
    const mcpAuthentication = { issuer: idp.url, audiences: ['a'], clientId: 'known', jwks }
    const route = { policies: { mcpAuthentication }, backends: [{ host: '127.0.0.1:1' }] }
    const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] }))
    t.after(() => gateway.close())
    for (let i = 0; i < 2; i++) await server(`http://127.0.0.1:${gateway.port}/mcp`)
    equal(gateway.logged.length, 1, gateway.logged.join('\n'))
    match(gateway.logged[0]!, /^warn: mcpAuthentication: the issuer \S+ names itself .*do not get clientId from here/)
  })
})
