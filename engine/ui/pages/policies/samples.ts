/** What the page begins with, and how a sample is read. */

export const SAMPLE = `{
  "request": {
    "method": "POST",
    "url": "http://shop.example:8080/orders/12?dry=1",
    "headers": { "x-team": "red", "content-type": "application/json" },
    "body": "{\\"amount\\": 12.5}"
  },
  "source": { "address": "10.1.2.3" },
  "jwt": { "sub": "ann", "roles": ["admin"] },
  "response": { "code": 200 },
  "llm": { "requestModel": "gpt-5", "inputTokens": 900, "timeToFirstToken": "0.4s" }
}`

export const EXAMPLES = [
  { title: 'A claim and a header', expression: 'jwt.sub == "ann" && request.headers["x-team"] == "red"' },
  { title: 'A role', expression: '"admin" in jwt.roles' },
  { title: 'A field of the body', expression: 'json(request.body).amount < 100.0' },
  { title: 'A network', expression: 'cidr("10.0.0.0/8").containsIP(source.address)' },
  { title: 'A slow first token', expression: 'llm.timeToFirstToken > duration("250ms")' },
  { title: 'A field that may be missing', expression: 'jwt.?email.orValue("nobody")' }
] as const

/** The sample, or what is wrong with its text. */
export function readSample(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : 'The sample must be an object: { "request": { "url": "http://a/b" } }'
  } catch (problem) {
    return `No JSON: ${problem instanceof Error ? problem.message : String(problem)}`
  }
}
