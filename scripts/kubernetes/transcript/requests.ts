/** What is asked of the Gateway, for a shell. */
export const ASK = `curl -s http://$(kubectl -n chat get gateway edge -o jsonpath='{.status.addresses[0].value}'):8080`
export const INIT = `'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'`
export const MCP_FIELDS = `-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'`
export const CHAT = (model: string, content: string): string =>
  `-d '{"model":"${model}","messages":[{"role":"user","content":"${content}"}]}'`
