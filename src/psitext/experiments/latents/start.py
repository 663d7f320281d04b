"""What a sentence space may start from: fewer layers of a BERT, or an autoencoder whose latents are brought to scale.

Letters: S sentences, P latent numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from psitext.encoders.bert import Bert
from psitext.encoders.vae import Vae
from psitext.errors import UserError
from psitext.heads.decoding import DecodingHead
from psitext.model import Sentences
from psitext.randomness import generator
from psitext.text.twofold import TwofoldSource
from psitext.train import predict
from psitext.train.checkpoint import load_tensors, tensors_of
from psitext.train.network import Network

SAMPLE = 4_096  # sentences that a scale is measured on: to 1 % or so


def first_layers(given: Bert, layers: int | None) -> Bert:
    """The lowest layers of a BERT; of all of them it is the BERT itself. Errors: more than there are."""
    if layers is None or layers == given.config.layers:
        return given
    if layers > given.config.layers:
        raise UserError(f"encoder_layers is {layers}, and the encoder has {given.config.layers}")
    fewer = Bert(given.config.model_copy(update={"layers": layers}))
    kept = fewer.state_dict().keys()
    load_tensors(fewer, {name: value for name, value in tensors_of(given).items() if name in kept}, "the encoder")
    return fewer


def whitened(network: Network, source: TwofoldSource) -> None:
    """Scale every latent number to variance 1 over sentences of ``source``, in place, and set all log-variances to 0.

    An autoencoder's latents have whatever scale they came to (means squared of 0.01 to 0.1), far below the prior's; a
    KL term would first have to blow them up. Rows of W_E are divided by the deviation and columns of the injection
    multiplied by it, so every sentence is reconstructed from its mean as before.
    """
    encoder, head = network.encoder, network.head
    if not isinstance(encoder, Vae) or not isinstance(head, DecodingHead) or head.decoder.config.kind != "causal":
        raise UserError("whiten = true is for an autoencoder of a BERT and a causal transformer")
    members = np.arange(len(source.sentences.texts)) if source.members is None else source.members
    some = members[generator(0, "whitening").permutation(len(members))[:SAMPLE]]
    means = np.stack(
        predict.run(Network(encoder, Sentences()), replace(source, word_noise=0.0, members=some), predict.vectors)
    )
    deviation = torch.from_numpy(means.std(0, dtype=np.float64)).float()
    if not bool((deviation > 0).all()):
        raise UserError(f"latent number {int(deviation.argmin())} of init is the same for all sentences: no scale fits")
    with torch.no_grad():
        mean, log_var = encoder.posterior.weight.chunk(2)
        mean.div_(deviation[:, None])
        log_var.zero_()
        for matrix in (getattr(head.decoder, "memory", None), getattr(head.decoder, "embedding", None)):
            if matrix is not None:  # W_M and W_D of those that the injection has
                matrix.weight.mul_(deviation)
