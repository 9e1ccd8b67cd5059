/** Logins by the official SDK of both generations: they find the issuer, register, log in, call a tool, and renew. */
import { rejects } from 'node:assert/strict'
import * as second from '@modelcontextprotocol/client'
import * as first from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { Person } from './person.ts'
import type { Ending } from './servers.ts'

const WHO = { name: 'tester', version: '1' }

export interface LoggedIn {
  readonly sentTo: URL
  /** The result of the tool `add`. */
  readonly called: unknown
  /** What logging in by the refresh token alone came to. */
  readonly renewed: string
}

/** `browser`: sent to where a person logs in; gives the parameters that the callback is called with. */
export type LogIn = (t: Ending, url: string, browser: (to: URL) => Promise<URLSearchParams>) => Promise<LoggedIn>

export const logInFirst: LogIn = async (t, url, browser) => {
  const person = new Person<OAuthClientInformationMixed, OAuthTokens>()
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: person })
  const connect = async (over: StreamableHTTPClientTransport): Promise<Client> => {
    const client = new Client(WHO)
    t.after(() => client.close())
    await client.connect(over as Parameters<Client['connect']>[0])
    return client
  }
  const refused = transport()
  await rejects(connect(refused), first.UnauthorizedError)
  await refused.finishAuth((await browser(person.sentTo!)).get('code')!)
  const client = await connect(transport())
  const called = (await client.callTool({ name: 'add' })).content
  return { sentTo: person.sentTo!, called, renewed: await first.auth(person, { serverUrl: url }) }
}

export const logInSecond: LogIn = async (t, url, browser) => {
  const person = new Person<second.StoredOAuthClientInformation, second.StoredOAuthTokens>()
  const transport = () => new second.StreamableHTTPClientTransport(new URL(url), { authProvider: person })
  const connect = async (over: second.StreamableHTTPClientTransport): Promise<second.Client> => {
    const client = new second.Client(WHO)
    t.after(() => client.close())
    await client.connect(over)
    return client
  }
  const refused = transport()
  await rejects(connect(refused), second.UnauthorizedError)
  await refused.finishAuth(await browser(person.sentTo!))
  const client = await connect(transport())
  const called = (await client.callTool({ name: 'add' })).content
  return { sentTo: person.sentTo!, called, renewed: await second.auth(person, { serverUrl: url }) }
}
