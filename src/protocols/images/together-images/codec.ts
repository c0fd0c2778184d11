// Together's images: OpenAI's interface, with a width and a height in the place of a size, and `base64` for bytes.
import { GatewayError } from "../../../canonical/gateway-error.ts"
import { NO_HEADERS } from "../../gateway-extension.ts"
import type { ImageUpstream } from "../../image-codec.ts"
import { decodeError } from "../../openai/openai-errors.ts"
import { readImageList } from "../image-list.ts"

export const togetherImagesUpstream: ImageUpstream = {
  fates: {
    size: { fate: "mapped", note: "`width` and `height`" },
    quality: { fate: "dropped", note: "Together has no such setting" },
    format: { fate: "mapped", note: "`output_format`; no webp" },
    compression: { fate: "dropped", note: "Together has no such setting" },
    background: { fate: "refused", note: "Together does not support transparent backgrounds" },
    endUser: { fate: "dropped", note: "there is no such member" },
  },
  mostAtOnce: () => 4,
  takesForm: () => true,
  operationFor: () => ({ operation: "images", path: "/images/generations", headers: NO_HEADERS }),
  encodeRequest({ prompt, count, form, settings: { size, format }, extra }, { model }) {
    if (format === "webp") throw unsupportedWebp()
    return {
      model,
      prompt,
      n: count,
      ...(size && { width: size.width, height: size.height }),
      ...(format && { output_format: format }),
      ...(form && { response_format: form === "url" ? "url" : "base64" }),
      // Members that are not OpenAI's are mostly this host's own.
      ...extra?.members,
    }
  },
  decodeResponse(body) {
    const images = readImageList(body)
    return images && { images }
  },
  decodeError,
}

function unsupportedWebp(): GatewayError {
  const message = "`format` is webp, which Together does not support. Ask for png or jpeg."
  return new GatewayError("unsupported_parameter", message, { param: "format" })
}
