/** `npm run conformance -- keys`: keys, limits and budgets over replicas, with real servers. */
import { CASES } from './cases.ts'
import { startProvider } from './fleet.ts'
import { startServers } from './servers.ts'

/** `only`: part of the name of a server or a case. False: something does not hold. */
export async function runKeys(print: (line: string) => void, only = ''): Promise<boolean> {
  const provider = await startProvider()
  const servers = await startServers(print)
  let [passed, failed, number] = [0, 0, 0]
  try {
    for (const server of servers) {
      for (const { name, run } of CASES) {
        const title = `${server.name}: ${name}`
        if (!title.toLowerCase().includes(only.toLowerCase())) continue
        try {
          print(`ok   ${title}: ${await run({ server, provider, prefix: `case${++number}` })}`)
          passed++
        } catch (error) {
          print(`FAIL ${title}: ${(error as Error).message}`)
          failed++
        }
      }
    }
  } finally {
    for (const server of servers) await server.close()
    provider.close()
  }
  print(`keys: ${passed} passed, ${failed} failed`)
  return failed === 0 && passed > 0
}
