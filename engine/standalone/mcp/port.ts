/** Where `mcp` is served when it does not say. */
export const MCP_PORT = 3000
