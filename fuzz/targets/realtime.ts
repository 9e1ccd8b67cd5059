/** The reader of realtime sessions: any bytes, cut anywhere, give the same costs, and none of them throws. */
import assert from 'node:assert/strict'
import { DoneEvents, usageOf } from '#backends/llm/routes/realtime-usage.ts'
import { FrameDecoder } from '#engine/http/websocket.ts'

export const name = 'realtime'

export const dictionary = ['"response.done"', '"type"', '"usage"', '"input_tokens"', '"input_token_details"', '1e999']

function costs(data: Buffer, size: number): string {
  const found: string[] = []
  const events = new DoneEvents((event) => {
    const usage = usageOf(event)
    for (const count of Object.values(usage ?? {})) assert.ok(Number.isSafeInteger(count) && count >= 0)
    found.push(JSON.stringify(usage))
  })
  const decoder = new FrameDecoder(events)
  for (let at = 0; at < data.length; at += size) decoder.execute(data, at, Math.min(at + size, data.length))
  return `${found.join()} ${decoder.fault}`
}

export function run(data: Buffer): void {
  const whole = costs(data, Math.max(data.length, 1))
  for (const size of [1, 3, 64]) assert.equal(costs(data, size), whole)
}
