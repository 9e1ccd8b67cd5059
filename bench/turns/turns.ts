/**
 * `npm run bench -- --turns`: the longest turn of the event loop while large bodies and long events pass. It reports
 * and judges nothing: on a machine that others use the clock says little, the time on a processor more.
 */
import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { table } from '#bench/report.ts'
import { CASES, type Case, MAX_BUFFER_BYTES } from './cases.ts'
import type { FromGateway, ToGateway, Turns } from './gateway.ts'

/** Requests per case; the first ones compile code, load the pool and are not reported. */
const WARM = 3
const RUNS = 9
const PIECE_BYTES = 64 * 1024

/** The provider: it reads nothing of what it gets, and answers what the case says. */
async function startProvider(): Promise<Server> {
  const server = createServer((incoming, answer) => {
    incoming.on('end', () => {
      const { type, body } = CASES[Number(incoming.headers['x-case'])]!.answer
      answer.writeHead(200, {
        'content-type': type,
        ...(type === 'application/json' ? { 'content-length': body.length } : {})
      })
      answer.end(body)
    })
    incoming.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function config(port: number): string {
  const routes = CASES.map(({ policies = {}, provider, ai = {} }, i) => ({
    name: `case-${i}`,
    matches: [{ headers: [{ name: 'x-case', value: { exact: String(i) } }] }],
    policies,
    backends: [{ ai: { provider: { [provider]: {}, host: '127.0.0.1', port }, ...ai } }]
  }))
  return JSON.stringify({
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'info' } },
    frontendPolicies: {
      http: { maxBufferSize: MAX_BUFFER_BYTES },
      accessLog: {
        filter: 'has(llm.requestModel) && llm.requestModel == "logged"',
        add: { first: 'llm.prompt[0].content', messages: 'size(llmRequest.messages)' }
      }
    },
    binds: [{ port: 0, listeners: [{ routes }] }]
  })
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Resolves with the status when all of the answer has come. */
async function ask(port: number, i: number, { body, isChunked = false }: Case): Promise<number> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    agent,
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      'content-type': 'application/json',
      'x-case': String(i),
      ...(isChunked ? {} : { 'content-length': body.length })
    }
  })
  for (let from = 0; from < body.length; from += PIECE_BYTES) {
    if (!outgoing.write(body.subarray(from, from + PIECE_BYTES))) await once(outgoing, 'drain')
  }
  const answered = once(outgoing, 'response') as Promise<[import('node:http').IncomingMessage]>
  outgoing.end()
  const [answer] = await answered
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode ?? 0
}

async function tell(gateway: Worker, message: ToGateway): Promise<FromGateway> {
  const answer = once(gateway, 'message')
  gateway.postMessage(message)
  return ((await answer) as [FromGateway])[0]
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const most = (runs: readonly Turns[], of: (turns: Turns) => number) => Math.max(...runs.map(of))
const ms = (value: number) => value.toFixed(1)

function row({ name }: Case, status: number, runs: readonly Turns[]): string[] {
  const jobs = runs.at(-1)!.jobs
  const large = `${most(runs, (r) => r.parsed)} / ${most(runs, (r) => r.printed)}`
  return [
    name,
    String(status),
    ms(median(runs.map((r) => r.busiestMs))),
    ms(most(runs, (r) => r.busiestMs)),
    ms(Math.min(...runs.map((r) => r.longestMs))),
    ms(median(runs.map((r) => r.longestMs))),
    ms(most(runs, (r) => r.longestMs)),
    ms(most(runs, (r) => r.collectedMs)),
    ms(runs.reduce((sum, r) => sum + r.above, 0) / runs.length),
    large,
    jobs.length === 0 ? '-' : jobs.join(', ')
  ]
}

const HEAD = [
  ...[
    'case',
    'status',
    'busy, median',
    'busy, most',
    'turn, least',
    'turn, median',
    'turn, most',
    'GC in it',
    'turns > 5 ms'
  ],
  ...['parsed / printed here', 'jobs']
]

/** Measures the cases whose names contain `part`. */
export async function runTurns(part = ''): Promise<string> {
  const provider = await startProvider()
  const gateway = new Worker(new URL('./gateway.ts', import.meta.url), {
    workerData: config((provider.address() as AddressInfo).port)
  })
  const [{ port }] = (await once(gateway, 'message')) as [{ readonly port: number }]
  const rows: string[][] = []
  for (const [i, one] of CASES.entries()) {
    if (!one.name.includes(part)) continue
    const runs: Turns[] = []
    let status = 0
    for (let run = -WARM; run < RUNS; run++) {
      await tell(gateway, 'begin')
      status = await ask(port, i, one)
      const turns = (await tell(gateway, 'end')) as Turns
      if (run >= 0) runs.push(turns)
    }
    rows.push(row(one, status, runs))
  }
  gateway.postMessage('stop' satisfies ToGateway)
  await once(gateway, 'exit')
  agent.destroy()
  provider.close()
  return table(HEAD, rows)
}
