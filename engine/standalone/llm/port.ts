/** Where `llm` is served when it does not say. */
export const LLM_PORT = 4000
